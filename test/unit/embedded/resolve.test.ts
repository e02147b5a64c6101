import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";

import { UnavailableError } from "../../../src/lib/errors.ts";
import { startBroker, startStore, type ResolveOptions } from "../../../src/embedded/resolve.ts";
import { afterwards, launchOptions, pathWithOnly } from "./local.ts";

function options(t: TestContext, choice: ResolveOptions["choice"]): ResolveOptions {
  return { ...launchOptions(t), choice };
}

/** No container engine answers here, for the time of the test. */
function withoutEngine(t: TestContext): void {
  const { DOCKER_HOST } = process.env;
  process.env["DOCKER_HOST"] = "tcp://127.0.0.1:1";
  afterwards(t, () => {
    if (DOCKER_HOST === undefined) delete process.env["DOCKER_HOST"];
    else process.env["DOCKER_HOST"] = DOCKER_HOST;
  });
}

describe("the resolver", () => {
  it("starts local processes when these are asked for", async (t) => {
    const broker = await startBroker(options(t, "local"));
    afterwards(t, () => broker.stop());
    const store = await startStore(options(t, "local"));
    afterwards(t, () => store.stop());
    assert.match(broker.description, /\(process\)$/);
    assert.match(store.description, /\(process\)$/);
  });

  it("goes on to a local process when no container engine answers", async (t) => {
    withoutEngine(t);
    const store = await startStore(options(t, "auto"));
    afterwards(t, () => store.stop());
    assert.match(store.description, /\(process\)$/);
  });

  it("names every way of having a broker, and what mends it, when there is none", async (t) => {
    withoutEngine(t);
    pathWithOnly(t, {});
    await assert.rejects(startBroker(options(t, "auto")), (error) => {
      assert.ok(error instanceof UnavailableError);
      assert.match(
        error.message,
        /^no Kafka broker could be started:\n {2}- .* container: .*\n {2}- .* process: .*install a JDK/,
      );
      assert.match(error.message, /set KAFKA_BROKERS/);
      return true;
    });
  });

  it("names every way of having a store, and what mends it, when there is none", async (t) => {
    withoutEngine(t);
    pathWithOnly(t, {});
    await assert.rejects(startStore(options(t, "auto")), (error) => {
      assert.ok(error instanceof UnavailableError);
      assert.match(
        error.message,
        / {2}- .* container: .*\n {2}- mongod process: .*\n {2}- SecantusDB .* process: .*python3/,
      );
      assert.match(error.message, /set MONGODB_URI/);
      return true;
    });
  });

  it("does not look for local processes when containers are asked for", async (t) => {
    withoutEngine(t);
    await assert.rejects(startStore(options(t, "containers")), (error) => {
      assert.ok(error instanceof UnavailableError);
      assert.doesNotMatch(error.message, /SecantusDB/);
      return true;
    });
  });

  it("says why the local server that is there did not start, and tries no other", async (t) => {
    pathWithOnly(t, {
      mongod: '[ "$1" = --version ] && echo "db version v8.0.4" || { echo disk full; exit 1; }',
    });
    await assert.rejects(startStore(options(t, "local")), (error) => {
      assert.ok(error instanceof UnavailableError);
      assert.match(
        error.message,
        /mongod process: mongod 8\.0\.4 did not come up: exited with code 1.*disk full/s,
      );
      assert.doesNotMatch(error.message, /SecantusDB/);
      return true;
    });
  });
});
