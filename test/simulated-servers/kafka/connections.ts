/** The connections of one broker: requests are answered one after another, as Kafka does. */
import type { Host } from "../clock.ts";
import type { Connection, Peer } from "../simulated-socket.ts";
import { createFrameSplitter, readRequest, writeResponse } from "../wire/frames.ts";
import type { Handler, Handlers } from "./requests.ts";
import type { BrokerNode } from "./topics.ts";
import type { MessageName, Response } from "../wire/messages.ts";

export interface Acceptor {
  readonly handlers: Handlers;
  readonly onRequest: (client: Host, node: BrokerNode, name: MessageName) => void;
}

/** Accepts a connection to a broker. */
export function acceptConnection(
  node: BrokerNode,
  { handlers, onRequest }: Acceptor,
  connection: Connection,
): Peer {
  const split = createFrameSplitter();
  const waiting: Buffer[] = [];
  let isBusy = false;
  let isClosed = false;

  function handleNext(): void {
    if (isBusy || isClosed) return;
    const frame = waiting.shift();
    if (frame === undefined) return;
    isBusy = true;
    const { name, correlationId, clientId, body } = readRequest(frame);
    onRequest(connection.client, node, name);
    const handle = handlers[name] as Handler<never>;
    const respond = (response: Response<never>): void => {
      // A process may have given up its connection.
      if (isClosed) return;
      isBusy = false;
      connection.send(writeResponse(name, correlationId, response));
      handleNext();
    };
    const context = { brokerId: node.nodeId, client: connection.client, clientId };
    handle(body as never, respond, context);
  }

  return {
    onData(bytes) {
      waiting.push(...split(bytes));
      handleNext();
    },
    onClosed() {
      isClosed = true;
    },
  };
}
