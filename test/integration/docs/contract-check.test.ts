import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { assertKeepsContract, type ReceivedResponse } from "../../support/contract.ts";

const healthy: ReceivedResponse = {
  method: "GET",
  url: "http://127.0.0.1/healthz",
  status: 200,
  headers: new Headers({ "Content-Type": "application/json; charset=utf-8", "X-Request-Id": "1" }),
  text: '{"status":"alive"}',
};
const errorBody = (code: string): string =>
  JSON.stringify({ error: { message: "m", detail: "", code, details: [] }, status: "failure" });

const checkWith = (different: Partial<ReceivedResponse>) => () => {
  assertKeepsContract({ ...healthy, ...different });
};

describe("the check of responses against the OpenAPI document", () => {
  it("accepts documented responses", () => {
    assert.doesNotThrow(checkWith({}));
    assert.doesNotThrow(checkWith({ method: "HEAD", text: "" }));
    assert.doesNotThrow(
      checkWith({ url: "http://127.0.0.1/nothing", status: 404, text: errorBody("NOT_FOUND") }),
    );
  });

  it("rejects another status, body, content type or code, and a missing header", () => {
    assert.throws(checkWith({ status: 201 }), /has the statuses 200, /);
    assert.throws(checkWith({ text: '{"status":"dead"}' }), /body violates the OpenAPI document/);
    assert.throws(
      checkWith({ headers: new Headers({ "X-Request-Id": "1", "Content-Type": "text/html" }) }),
      /content types/,
    );
    assert.throws(
      checkWith({ headers: new Headers({ "Content-Type": "application/json" }) }),
      /X-Request-Id is missing/,
    );
    assert.throws(
      checkWith({ status: 400, text: errorBody("FORBIDDEN") }),
      /body violates the OpenAPI document/,
    );
    assert.throws(checkWith({ url: "http://127.0.0.1/nothing" }), /no such path/);
    assert.throws(checkWith({ method: "PUT" }), /describes only get/);
    const registration = { method: "POST", url: "http://127.0.0.1/api/now/push/a%20b/installation" };
    assert.throws(checkWith({ ...registration, text: "ok" }), /describes no body/);
    assert.throws(
      checkWith({ ...registration, status: 401, text: errorBody("UNAUTHENTICATED") }),
      /WWW-Authenticate/,
    );
  });
});
