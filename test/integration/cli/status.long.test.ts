import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { exitCodes } from "@topicsync/lib/errors";
import type { SyncStatus } from "../../../schemas/sync-status.ts";
import { createCertificate } from "../../support/certificate.ts";
import { impatient } from "../../support/patience.ts";
import { until } from "../../support/poll.ts";
import { stage } from "../../support/scene.ts";
import { bootstrap, runCli, runJson } from "../../support/service.ts";

const { scene } = stage();
// Nothing listens on port 1, so no other service responds.
const own = scene({ HTTP_PORT: "1" });
const { settings } = own;

before(() => own.createTopic());

/** Asks again while Kafka or MongoDB, on a busy machine, does not respond while the command waits. */
const untilComplete = <T>(ask: () => Promise<T>): Promise<T> =>
  until("everything responds in time", async () => {
    const found = await ask();
    return JSON.stringify(found).includes("no response within") ? undefined : found;
  });
const readStatus = (more: readonly string[] = [], input?: string) =>
  untilComplete(async () => {
    const { code, output } = await runCli(["status", "--json", ...more], settings, input);
    return { code, ...(JSON.parse(output) as SyncStatus) };
  });
const readText = (more: readonly string[] = [], input?: string, moreSettings = {}) =>
  untilComplete(
    async () => (await runCli(["status", ...more], { ...settings, ...moreSettings }, input)).output,
  );

describe("topicsync status", () => {
  it("reads from Kafka and MongoDB when no service runs", async () => {
    await own.announce(0, 3);
    const { code, consumer, counts, partitions, problems } = await readStatus();
    assert.deepEqual([code, consumer, counts], [exitCodes.unavailable, "none", null]);
    assert.equal(partitions.length, 1);
    const [one] = partitions;
    assert.deepEqual(
      [one?.committedOffset, one?.logEnd, one?.lagRecords, one?.assigned, one?.owner, one?.state],
      [null, 3, 3, false, null, null],
    );
    assert.ok((one?.lagSeconds ?? 0) > 0);
    assert.match(
      problems[0] ?? "",
      /No service responds at http:\/\/127\.0\.0\.1:1 \(.*(ECONNREFUSED|bad port)/,
    );
    const output = await readText();
    assert.match(output, /3 announcements behind, the oldest for/);
    assert.match(output, /nobody/);
  });

  it("asks a running service, which also has counts", async () => {
    const service = await own.start({ HTTP_PORT: "0" });
    const as = ["--server", service.url, "--user", bootstrap.user];
    const { code, counts, partitions } = await until("the sync has caught up", async () => {
      const found = await readStatus(as, bootstrap.password);
      return found.partitions[0]?.lagRecords === 0 ? found : undefined;
    });
    assert.deepEqual([code, counts?.created], [exitCodes.ok, 3]);
    assert.deepEqual([partitions[0]?.owner, partitions[0]?.state], ["this process", "reading"]);
    const output = await readText(as, bootstrap.password);
    assert.match(output, /The service at .* is ready/);
    assert.match(output, /in sync/);
    assert.match(output, /created 3, updated 0, adopted 0, unchanged 0, retired 0, rejected 0/);

    const without = await readText(["--server", service.url], "", {
      BOOTSTRAP_USER: bootstrap.user,
      BOOTSTRAP_PASSWORD: bootstrap.password,
    });
    assert.match(without, /is ready\. Its counts require a login: see --user/);
    const wrong = await readText(as, "wrong");
    assert.match(wrong, /It responded with 401 to these credentials/);
    assert.doesNotMatch(wrong, /partition/, "Kafka and MongoDB are another server's");
    const create = ["keys", "create", "status", "--role", "status.read", "--expires-in", "1h"];
    const { key } = (await runJson(create, settings)) as { readonly key: string };
    const byKey = await runCli(["status", "--server", service.url], { ...settings, TOPICSYNC_TOKEN: key });
    assert.match(byKey.output, /created 3/);
    assert.equal(await service.stop(), 0);
  });

  it("trusts the service's own certificate, but no other", async () => {
    const folder = mkdtempSync(join(tmpdir(), "topicsync-status-"));
    after(() => {
      rmSync(folder, { recursive: true });
    });
    const createPair = async (name: string) => {
      const files = { HTTP_TLS_CERT: join(folder, `${name}.pem`), HTTP_TLS_KEY: join(folder, `${name}.key`) };
      const { cert, key } = await createCertificate();
      writeFileSync(files.HTTP_TLS_CERT, cert);
      writeFileSync(files.HTTP_TLS_KEY, key);
      return files;
    };
    const pair = await createPair("own");
    const service = await own.start({ HTTP_PORT: "0", ...pair });
    const { port } = new URL(service.url);
    assert.match(
      await readText([], "", { HTTP_PORT: port, ...pair }),
      /The service at https:\S+ is (?:not )?ready/,
    );
    const other = { HTTP_PORT: port, ...(await createPair("other")) };
    assert.match(await readText([], "", other), /No service responds at https:.*certificate/);
    const given = await readText(["--server", service.url], "", pair);
    assert.match(
      given,
      /No service responds at https:.*certificate/,
      "trusted only at the configured address",
    );
    assert.equal(await service.stop(), 0);
  });

  it("shows the rest when MongoDB or Kafka is down", async () => {
    const noStore = await runCli(["status"], {
      ...settings,
      ...impatient,
      MONGODB_URI: "mongodb://127.0.0.1:1/x",
    });
    assert.equal(noStore.code, exitCodes.unavailable, noStore.errors);
    assert.match(noStore.output, /partly unknown/);
    assert.match(noStore.output, /Unknown: the positions: MongoDB at 127\.0\.0\.1:1 did not respond/);
    const noBroker = await runCli(["status"], { ...settings, ...impatient, KAFKA_BROKERS: "127.0.0.1:1" });
    assert.equal(noBroker.code, exitCodes.unavailable, noBroker.errors);
    assert.match(noBroker.output, /Unknown: the log: Kafka at 127\.0\.0\.1:1 did not respond.*ECONNREFUSED/);
  });
});
