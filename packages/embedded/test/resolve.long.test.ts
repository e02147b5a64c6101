import assert from "node:assert/strict";
import { it } from "node:test";

import { startBroker, startStore } from "../resolve.ts";
import { cleanUpAfter, createLaunchOptions } from "../../../test/support/local.ts";

it("the resolver starts local processes if requested", async (t) => {
  for (const start of [startBroker, startStore]) {
    const server = await start({
      ...createLaunchOptions(t),
      ...{ choice: "local", kafkaImage: "", mongoImage: "" },
    });
    cleanUpAfter(t, () => server.stop());
    assert.match(server.description, /\(process\)$/);
  }
});
