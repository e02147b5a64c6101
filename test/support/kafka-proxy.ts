import { startTcpProxy, type Messages, type TcpProxy } from "./tcp-proxy.ts";

/**
 * A proxy before a broker (`host:port`). A broker tells its clients where it is; this proxy puts its own port there, so
 * that they come back to it.
 */
export async function startKafkaProxy(broker: string): Promise<TcpProxy & { readonly address: string }> {
  const [host = "", port = ""] = broker.split(":");
  const told = addressBytes(host, Number(port));
  // Known only once the proxy listens, and needed only then.
  let instead = told;
  const messages: Messages = {
    lengthOf: (head) => (head.length < 4 ? undefined : head.readInt32BE(0) + 4),
    answer(message) {
      for (let at = message.indexOf(told); at !== -1; at = message.indexOf(told, at + 1))
        instead.copy(message, at);
      return message;
    },
  };
  const proxy = await startTcpProxy(Number(port), messages);
  instead = addressBytes(host, proxy.port);
  return { ...proxy, address: `${host}:${proxy.port}` };
}

/** A host and its port as they stand in the answers of Kafka. */
function addressBytes(host: string, port: number): Buffer {
  const bytes = Buffer.alloc(host.length + 4);
  bytes.write(host, "latin1");
  bytes.writeInt32BE(port, host.length);
  return bytes;
}
