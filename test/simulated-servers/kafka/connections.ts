/** The connections of one broker: requests are answered one after another, as Kafka does. */
import type { Host } from "../clock.ts";
import type { Connection, Peer } from "../simulated-socket.ts";
import { createFrameSplitter, readRequest, writeResponse } from "../wire/frames.ts";
import { spoil, type InjectedError } from "./injected-errors.ts";
import type { Handler, Handlers } from "./requests.ts";
import type { BrokerNode } from "./topics.ts";
import type { MessageName, Response } from "../wire/messages.ts";

export type { InjectedError } from "./injected-errors.ts";

export interface Acceptor {
  readonly handlers: Handlers;
  /** Returns what the response is spoilt with, if anything. */
  readonly onRequest: (client: Host, node: BrokerNode, name: MessageName) => InjectedError | undefined;
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
    const injected = onRequest(connection.client, node, name);
    const handle = handlers[name] as Handler<never>;
    const respond = (response: Response<never>): void => {
      // A process may have given up its connection.
      if (isClosed) return;
      isBusy = false;
      connection.send(writeResponse(name, correlationId, spoil(response, injected)));
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
