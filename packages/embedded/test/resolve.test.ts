import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";

import { UnavailableError } from "@topicsync/lib/errors";
import { startBroker, startStore, type ResolveOptions } from "../resolve.ts";
import { cleanUpAfter, createLaunchOptions, restrictPath } from "../../../test/support/local.ts";

function createOptions(t: TestContext, choice: ResolveOptions["choice"]): ResolveOptions {
  return { ...createLaunchOptions(t), choice, kafkaImage: "kafka", mongoImage: "mongo" };
}

/** Makes container engines unreachable for the duration of the test. */
function disableEngines(t: TestContext): void {
  const { DOCKER_HOST } = process.env;
  process.env["DOCKER_HOST"] = "tcp://127.0.0.1:1";
  cleanUpAfter(t, () => {
    if (DOCKER_HOST === undefined) delete process.env["DOCKER_HOST"];
    else process.env["DOCKER_HOST"] = DOCKER_HOST;
  });
}

describe("the resolver", () => {
  it("falls back to a local process if no container engine responds", async (t) => {
    disableEngines(t);
    const store = await startStore(createOptions(t, "auto"));
    cleanUpAfter(t, () => store.stop());
    assert.match(store.description, /\(process\)$/);
  });

  it("lists every way to run a broker, with the fix, if none works", async (t) => {
    disableEngines(t);
    restrictPath(t, {});
    await assert.rejects(startBroker(createOptions(t, "auto")), (error) => {
      assert.ok(error instanceof UnavailableError);
      assert.match(
        error.message,
        /^no Kafka broker could be started:\n {2}- .* container: .*\n {2}- .* process: .*install a JDK/,
      );
      assert.match(error.message, /set KAFKA_BROKERS/);
      return true;
    });
  });

  it("lists every way to run a store, with the fix, if none works", async (t) => {
    disableEngines(t);
    restrictPath(t, {});
    await assert.rejects(startStore(createOptions(t, "auto")), (error) => {
      assert.ok(error instanceof UnavailableError);
      assert.match(
        error.message,
        / {2}- .* container: .*\n {2}- mongod process: .*\n {2}- SecantusDB .* process: .*python3/,
      );
      assert.match(error.message, /set MONGODB_URI/);
      return true;
    });
  });

  it("does not try local processes if containers are requested", async (t) => {
    disableEngines(t);
    await assert.rejects(startStore(createOptions(t, "containers")), (error) => {
      assert.ok(error instanceof UnavailableError);
      assert.doesNotMatch(error.message, /SecantusDB/);
      return true;
    });
  });

  it("says why an installed local server did not start, and tries no other", async (t) => {
    restrictPath(t, {
      mongod: '[ "$1" = --version ] && echo "db version v8.0.4" || { echo disk full; exit 1; }',
    });
    await assert.rejects(startStore(createOptions(t, "local")), (error) => {
      assert.ok(error instanceof UnavailableError);
      assert.match(
        error.message,
        /mongod process: mongod 8\.0\.4 did not start: exited with code 1.*disk full/s,
      );
      assert.doesNotMatch(error.message, /SecantusDB/);
      return true;
    });
  });
});
