import { startTcpProxy, type Messages, type TcpProxy } from "./tcp-proxy.ts";

/** A proxy before a broker. */
export interface KafkaProxy extends TcpProxy {
  readonly address: string;
  /** Truncates every response after its header, until switched off. */
  truncateAnswers(truncated: boolean): void;
  /** Puts an error code into every answer to a heartbeat from now on. */
  failHeartbeats(errorCode: number): void;
  /** Resets every connection that asks for the coordinator of a group, until switched off. */
  hideCoordinators(hidden: boolean): void;
  /** Resets every connection in place of the next answer to a request of this kind. */
  loseAnswer(apiKey: number): void;
  hasLostAnswer(): boolean;
  /** The number of requests of this kind so far. */
  requests(apiKey: number): number;
  /** Holds requests of this kind and all later ones of their connections: a broker responds in order. */
  hold(apiKey: number): void;
  /** Passes on what was held. */
  release(): void;
}

/** The kinds of requests, as Kafka's protocol numbers them. */
export const apiKeys = {
  listOffsets: 2,
  offsetFetch: 9,
  findCoordinator: 10,
  heartbeat: 12,
  syncGroup: 14,
  describeGroups: 15,
  addOffsetsToTxn: 25,
  endTxn: 26,
} as const;

/**
 * Starts a proxy before a broker (`host:port`). A broker advertises its address to clients; the proxy
 * replaces the port with its own, so that they connect to the proxy again.
 */
export async function startKafkaProxy(broker: string): Promise<KafkaProxy> {
  const [host = "", port = ""] = broker.split(":");
  const brokerAddress = encodeAddress(host, Number(port));
  // Known once the proxy listens, and not needed earlier.
  let proxyAddress = brokerAddress;
  let isTruncating = false;
  let hidden = false;
  let heartbeatError: number | undefined;
  /** Of heartbeats that were not answered yet. */
  const heartbeats = new Set<number>();
  /** The answer that is lost: to a request of a kind, and once there is one, with its id. */
  let lost: { readonly apiKey: number; readonly correlationId?: number } | undefined;
  const counts = new Map<number, number>();
  const held = new Set<number>();
  /** The held requests of a connection, by the function that passes them on. */
  const blocked = new Map<(message: Buffer) => void, Buffer[]>();
  const messages: Messages = {
    readLength: (head) => (head.length < 4 ? undefined : head.readInt32BE(0) + 4),
    request(message, pass) {
      const apiKey = message.readInt16BE(4);
      counts.set(apiKey, (counts.get(apiKey) ?? 0) + 1);
      if (apiKey === apiKeys.heartbeat) heartbeats.add(message.readInt32BE(8));
      if (lost?.apiKey === apiKey) lost = { correlationId: message.readInt32BE(8), ...lost };
      if (held.has(apiKey) && !blocked.has(pass)) blocked.set(pass, []);
      const waiting = blocked.get(pass);
      if (hidden && apiKey === apiKeys.findCoordinator) proxy.reset();
      else if (waiting === undefined) pass(message);
      else waiting.push(message);
    },
    answer(message) {
      if (lost?.correlationId === message.readInt32BE(4)) {
        lost = undefined;
        proxy.reset();
      }
      if (isTruncating) return truncateToHead(message);
      // From version 1 on, the code follows the throttle time.
      if (heartbeats.delete(message.readInt32BE(4)) && heartbeatError !== undefined)
        message.writeInt16BE(heartbeatError, 12);
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
    truncateAnswers: (to) => void (isTruncating = to),
    failHeartbeats: (errorCode) => void (heartbeatError = errorCode),
    hideCoordinators: (to) => void (hidden = to),
    loseAnswer: (apiKey) => void (lost = { apiKey }),
    hasLostAnswer: () => lost === undefined,
    requests: (apiKey) => counts.get(apiKey) ?? 0,
    hold: (apiKey) => void held.add(apiKey),
    release() {
      held.clear();
      for (const [pass, waiting] of blocked) for (const message of waiting) pass(message);
      blocked.clear();
    },
  };
}

/** A host and its port as encoded in Kafka's responses. */
function encodeAddress(host: string, port: number): Buffer {
  const bytes = Buffer.alloc(host.length + 4);
  bytes.write(host, "latin1");
  bytes.writeInt32BE(port, host.length);
  return bytes;
}

/** Only the length and the correlation id. */
function truncateToHead(answer: Buffer): Buffer {
  const head = Buffer.from(answer.subarray(0, 8));
  head.writeInt32BE(4);
  return head;
}
