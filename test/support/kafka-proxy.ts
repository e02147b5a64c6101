import { startTcpProxy, type Messages, type TcpProxy } from "./tcp-proxy.ts";

/** A proxy before a broker. */
export interface KafkaProxy extends TcpProxy {
  readonly address: string;
  /** From now on every answer ends behind its head. */
  truncateAnswers(): void;
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
  const brokerAddress = encodeAddress(host, Number(port));
  // Known only once the proxy listens, and needed only then.
  let proxyAddress = brokerAddress;
  let isTruncating = false;
  let hidden = false;
  const counts = new Map<number, number>();
  const held = new Set<number>();
  /** Connections on which a held request came, by their function that passes requests on. */
  const blocked = new WeakSet<object>();
  const messages: Messages = {
    readLength: (head) => (head.length < 4 ? undefined : head.readInt32BE(0) + 4),
    request(message, pass) {
      const apiKey = message.readInt16BE(4);
      counts.set(apiKey, (counts.get(apiKey) ?? 0) + 1);
      if (held.has(apiKey)) blocked.add(pass);
      if (hidden && apiKey === apiKeys.findCoordinator) proxy.reset();
      else if (!blocked.has(pass)) pass(message);
    },
    answer(message) {
      if (isTruncating) return truncateToHead(message);
      for (let at = message.indexOf(brokerAddress); at !== -1; at = message.indexOf(brokerAddress, at + 1))
        proxyAddress.copy(message, at);
      return message;
    },
  };
  const proxy = await startTcpProxy(Number(port), () => messages);
  proxyAddress = encodeAddress(host, proxy.port);
  return {
    ...proxy,
    address: `${host}:${proxy.port}`,
    truncateAnswers: () => void (isTruncating = true),
    hideCoordinators: (to) => void (hidden = to),
    requests: (apiKey) => counts.get(apiKey) ?? 0,
    hold: (apiKey) => void held.add(apiKey),
  };
}

/** A host and its port as they stand in the answers of Kafka. */
function encodeAddress(host: string, port: number): Buffer {
  const bytes = Buffer.alloc(host.length + 4);
  bytes.write(host, "latin1");
  bytes.writeInt32BE(port, host.length);
  return bytes;
}

/** The length and the id of the request, and nothing else. */
function truncateToHead(answer: Buffer): Buffer {
  const head = Buffer.from(answer.subarray(0, 8));
  head.writeInt32BE(4);
  return head;
}
