import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createServer, type TLSSocket } from "node:tls";
import { promisify } from "node:util";

import pino from "pino";

import { readConfig } from "../../../src/config/config.ts";
import { followTls } from "../credentials.ts";
import { createSockets } from "../sockets.ts";
import { createAuthority } from "../../../test/support/authority.ts";
import { until } from "../../../test/support/poll.ts";
import { createFolder } from "../../../test/support/local.ts";

const authority = await createAuthority();
const [first, second, server] = await Promise.all(
  ["first", "second", "server"].map((name) => authority.issue(name)),
);
assert.ok(first && second && server);

describe("connections to Kafka", () => {
  it("use the certificate that is in the files now, and keep the old one while a file is half written", async (t) => {
    const folder = createFolder(t);
    const files = Object.fromEntries(
      ["ca", "cert", "key"].map((name) => [name, join(folder, `${name}.pem`)]),
    ) as Record<"ca" | "cert" | "key", string>;
    writeFileSync(files.ca, authority.cert);
    const write = (pair: { cert: string; key: string }): void => {
      writeFileSync(files.cert, pair.cert);
      writeFileSync(files.key, pair.key);
    };
    write(first);
    const lines: string[] = [];
    const log = pino({ level: "info" }, { write: (line: string) => void lines.push(line) });
    const { tls } = readConfig({
      KAFKA_TLS: "true",
      KAFKA_TLS_CA: files.ca,
      KAFKA_TLS_CERT: files.cert,
      KAFKA_TLS_KEY: files.key,
    }).kafka;
    const sockets = createSockets(followTls(tls, log));
    const listener = createServer({ ...server, ca: authority.cert, requestCert: true }).listen(
      0,
      "127.0.0.1",
    );
    await once(listener, "listening");
    t.after(() => {
      sockets.close();
      listener.close();
    });
    const { open } = sockets.createClientSockets();

    async function connect(): Promise<string> {
      const accepted = once(listener, "secureConnection") as Promise<[TLSSocket]>;
      const { port } = listener.address() as AddressInfo;
      open({ host: "127.0.0.1", port, ssl: {}, onConnect: () => undefined }).on("error", () => undefined);
      const [socket] = await accepted;
      socket.on("error", () => undefined);
      return String(socket.getPeerCertificate().subject.CN);
    }

    assert.equal(await connect(), "first");
    writeFileSync(files.cert, second.cert.slice(0, 200));
    assert.equal(await connect(), "first");
    writeFileSync(files.cert, second.cert);
    assert.equal(await connect(), "first", "the key is not that of the certificate yet");
    write(second);
    assert.equal(await connect(), "second");
    assert.ok(sockets.hasReplaced());
    sockets.closeReplaced();
    await until(
      "only the last connection is open",
      async () => (await promisify(listener.getConnections.bind(listener))()) === 1,
    );
    assert.ok(!sockets.hasReplaced());
    const messages = lines.map((line) => JSON.parse(line) as { msg: string; reason?: string });
    assert.deepEqual(
      messages.map(({ msg }) => msg),
      [
        "changed file is invalid, keeping the old content",
        "changed file is invalid, keeping the old content",
        "changed file read",
      ],
    );
    assert.match(messages[1]?.reason ?? "", /KAFKA_TLS_KEY is not the key/);
  });
});
