import assert from "node:assert/strict";
import { renameSync, rmSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";

import { watchCertificates } from "../../../src/service/certificates.ts";
import { readConfig } from "../../../src/config/config.ts";
import { createAuthority } from "../../support/authority.ts";
import { useFolder } from "../../support/folder.ts";

const folder = useFolder();
const early = new Date("2031-01-01T00:00:00Z");
const late = new Date("2032-01-01T00:00:00Z");
const authority = await createAuthority();
const issue = async (notAfter: Date) => authority.issue("client", { notAfter });
const [first, second] = [await issue(early), await issue(late)];
/** As Kubernetes and most tools do. */
function replace(name: string, text: string): void {
  folder.createFile(`new-${name}`, text);
  renameSync(join(folder.path, `new-${name}`), join(folder.path, name));
}

it("tell of a chain when its first certificate expires, and of a bundle of authorities the last", () => {
  const both = first.cert + second.cert;
  // The names of files and folders say nothing.
  const chain = folder.createFile("CA-chain.pem", both);
  const bundle = folder.createFile("bundle.pem", both);
  const config = readConfig({
    KAFKA_TLS: "true",
    KAFKA_TLS_CA: bundle,
    KAFKA_TLS_CERT: chain,
    KAFKA_TLS_KEY: folder.createFile("key.pem", first.key),
    MONGODB_URI: `mongodb://127.0.0.1/db?tls=true&tlsCAFile=${bundle}`,
  });
  assert.deepEqual(watchCertificates(config)(), [
    { setting: "KAFKA_TLS_CA", expiresAt: late.getTime() },
    { setting: "KAFKA_TLS_CERT", expiresAt: early.getTime() },
    { setting: "MONGODB_URI tlsCAFile", expiresAt: late.getTime() },
  ]);
});

it("are read when their file has changed, and only then", () => {
  const file = folder.createFile("ca.pem", first.cert);
  const writtenOn = new Date("2026-01-01T00:00:00Z");
  utimesSync(file, writtenOn, writtenOn);
  const getCertificates = watchCertificates(readConfig({ KAFKA_TLS: "true", KAFKA_TLS_CA: file }));
  const getExpiries = (): number[] => getCertificates().map(({ expiresAt }) => expiresAt);
  assert.deepEqual(getExpiries(), [early.getTime()]);
  folder.createFile("ca.pem", second.cert.padEnd(first.cert.length, "\n").slice(0, first.cert.length));
  utimesSync(file, writtenOn, writtenOn);
  assert.deepEqual(getExpiries(), [early.getTime()], "nothing tells that it has changed");
  replace("ca.pem", second.cert);
  assert.deepEqual(getExpiries(), [late.getTime()]);
  replace("ca.pem", "half of a certifica");
  assert.deepEqual(getExpiries(), []);
  rmSync(file);
  assert.deepEqual(getExpiries(), []);
  replace("ca.pem", first.cert);
  assert.deepEqual(getExpiries(), [early.getTime()]);
});
