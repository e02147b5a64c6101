import assert from "node:assert/strict";
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { describe, it } from "node:test";

import { UnavailableError } from "@topicsync/lib/errors";
import { limitAuthentication } from "../../../../http/framework/auth.ts";
import { healthOperations } from "../../../../src/operations/health.ts";
import { statusOperations } from "../../../../src/operations/status.ts";
import { nobody } from "../../../../src/users/user.ts";

const request = new IncomingMessage(new Socket());
const client = { address: "", secure: false, basePath: "" };

describe("the check of credentials for a status", () => {
  it("is given up in time when the store hangs", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const authenticate = limitAuthentication(900, () => new Promise(() => undefined));
    const rejected = assert.rejects(async () => authenticate(request, client), UnavailableError);
    t.mock.timers.tick(900);
    await rejected;
  });

  it("returns a caller that is known at once", () => {
    const caller = { user: nobody };
    assert.equal(limitAuthentication(900, () => caller)(request, client), caller);
  });

  it("leaves time to respond within 3 s", () => {
    const operations = [...healthOperations, ...statusOperations];
    const findLimit = (id: string) => operations.find((one) => one.id === id)?.loginTimeoutMs ?? Infinity;
    // The pings that follow take up to 2 s.
    assert.ok(findLimit("getReadiness") + 2_000 < 3_000);
    assert.ok(findLimit("getSyncStatus") < 3_000);
  });
});
