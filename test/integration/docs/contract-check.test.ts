import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { assertKeepsContract, type Answered } from "../../support/contract.ts";

const healthy: Answered = {
  method: "GET",
  url: "http://127.0.0.1/healthz",
  status: 200,
  headers: new Headers({ "Content-Type": "application/json; charset=utf-8", "X-Request-Id": "1" }),
  text: '{"status":"alive"}',
};
const refused = (code: string): string =>
  JSON.stringify({ error: { message: "m", detail: "", code, details: [] }, status: "failure" });

const holds = (different: Partial<Answered>) => () => {
  assertKeepsContract({ ...healthy, ...different });
};

describe("the check of answers against the OpenAPI document", () => {
  it("takes what the document has", () => {
    assert.doesNotThrow(holds({}));
    assert.doesNotThrow(holds({ method: "HEAD", text: "" }));
    assert.doesNotThrow(holds({ url: "http://127.0.0.1/nothing", status: 404, text: refused("NOT_FOUND") }));
  });

  it("refuses another status, body, content type or code, and a missing header", () => {
    assert.throws(holds({ status: 201 }), /has the statuses 200, /);
    assert.throws(holds({ text: '{"status":"dead"}' }), /allows no such body/);
    assert.throws(
      holds({ headers: new Headers({ "X-Request-Id": "1", "Content-Type": "text/html" }) }),
      /content types/,
    );
    assert.throws(
      holds({ headers: new Headers({ "Content-Type": "application/json" }) }),
      /X-Request-Id is missing/,
    );
    assert.throws(holds({ status: 400, text: refused("FORBIDDEN") }), /allows no such body/);
    assert.throws(holds({ url: "http://127.0.0.1/nothing" }), /no such path/);
    assert.throws(holds({ method: "PUT" }), /has get there/);
    const registration = { method: "POST", url: "http://127.0.0.1/api/now/push/a%20b/installation" };
    assert.throws(holds({ ...registration, text: "ok" }), /no body there/);
    assert.throws(
      holds({ ...registration, status: 401, text: refused("UNAUTHENTICATED") }),
      /WWW-Authenticate/,
    );
  });
});
