import { once } from "node:events";
import { connect, type AddressInfo, type Socket } from "node:net";
import { after } from "node:test";
import { createServer, type TLSSocket } from "node:tls";

/** What the server of a proxy presents, and whom it trusts: PEM. */
interface TlsContent {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
}

/** A proxy that speaks TLS before a server without, and demands a certificate of its clients. */
export interface TlsProxy {
  readonly port: number;
  /** The common names of the clients that were accepted so far. */
  readonly clients: ReadonlySet<string>;
  /** Presents and trusts something else from now on, and closes all connections. */
  replace(content: TlsContent): void;
}

/** Starts a proxy on 127.0.0.1 before a server on this machine, until the tests of this file end. */
export async function startTlsProxy(targetPort: number, content: TlsContent): Promise<TlsProxy> {
  const clients = new Set<string>();
  const open = new Set<Socket>();
  const server = createServer({ ...content, requestCert: true }, (client: TLSSocket) => {
    clients.add(String(client.getPeerCertificate().subject.CN));
    const target = connect(targetPort, "127.0.0.1");
    const close = (): void => {
      client.destroy();
      target.destroy();
      open.delete(client);
    };
    open.add(client);
    client.on("error", close).on("close", close).pipe(target);
    target.on("error", close).on("close", close).pipe(client);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const closeAll = (): void => {
    for (const client of open) client.destroy();
  };
  after(() => {
    closeAll();
    server.close();
  });
  return {
    port: (server.address() as AddressInfo).port,
    clients,
    replace(next) {
      server.setSecureContext(next);
      closeAll();
    },
  };
}
