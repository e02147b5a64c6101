import { startTcpProxy, type Messages, type TcpProxy } from "./tcp-proxy.ts";

/** A proxy before a broker. */
export interface KafkaProxy extends TcpProxy {
  readonly address: string;
  /** From now on every answer ends behind its head. */
  garble(): void;
  /** From now on every connection is reset when somebody asks who coordinates a group, until told not to. */
  hideCoordinators(hidden: boolean): void;
  /** How many requests of this kind have come. */
  requests(apiKey: number): number;
  /** From now on requests of this kind are never answered, nor what follows on their connections: a broker answers in order. */
  hold(apiKey: number): void;
}

/** The kinds of requests, as Kafka's protocol numbers them. */
export const apiKeys = { listOffsets: 2, findCoordinator: 10, describeGroups: 15 } as const;

/**
 * Starts a proxy before a broker (`host:port`). A broker tells its clients where it is; this proxy puts its own port there, so
 * that they come back to it.
 */
export async function startKafkaProxy(broker: string): Promise<KafkaProxy> {
  const [host = "", port = ""] = broker.split(":");
  const told = addressBytes(host, Number(port));
  // Known only once the proxy listens, and needed only then.
  let instead = told;
  let garbled = false;
  let hidden = false;
  const counts = new Map<number, number>();
  const held = new Set<number>();
  /** Connections on which a held request came, by their function that passes requests on. */
  const heldUp = new WeakSet<object>();
  const messages: Messages = {
    lengthOf: (head) => (head.length < 4 ? undefined : head.readInt32BE(0) + 4),
    request(message, pass) {
      const apiKey = message.readInt16BE(4);
      counts.set(apiKey, (counts.get(apiKey) ?? 0) + 1);
      if (held.has(apiKey)) heldUp.add(pass);
      if (hidden && apiKey === apiKeys.findCoordinator) proxy.reset();
      else if (!heldUp.has(pass)) pass(message);
    },
    answer(message) {
      if (garbled) return headOf(message);
      for (let at = message.indexOf(told); at !== -1; at = message.indexOf(told, at + 1))
        instead.copy(message, at);
      return message;
    },
  };
  const proxy = await startTcpProxy(Number(port), () => messages);
  instead = addressBytes(host, proxy.port);
  return {
    ...proxy,
    address: `${host}:${proxy.port}`,
    garble: () => void (garbled = true),
    hideCoordinators: (to) => void (hidden = to),
    requests: (apiKey) => counts.get(apiKey) ?? 0,
    hold: (apiKey) => void held.add(apiKey),
  };
}

/** A host and its port as they stand in the answers of Kafka. */
function addressBytes(host: string, port: number): Buffer {
  const bytes = Buffer.alloc(host.length + 4);
  bytes.write(host, "latin1");
  bytes.writeInt32BE(port, host.length);
  return bytes;
}

/** The length and the id of the request, and nothing else. */
function headOf(answer: Buffer): Buffer {
  const head = Buffer.from(answer.subarray(0, 8));
  head.writeInt32BE(4);
  return head;
}
