import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { bearerScheme, buildOpenApiDocument, defaultSchemes } from "../../../http/openapi/document.ts";
import { operation } from "../../../http/framework/operation.ts";
import { roles } from "../../../src/users/user.ts";

const base = { replies: { 200: { description: "Done." } }, handle: () => ({ status: 200 }) };
const described = {
  ...base,
  method: "GET",
  summary: "Do it",
  description: "It is done.",
  tag: "tests",
} as const;
const operations = [
  operation({ ...described, id: "open", paths: ["/open"], access: "anybody" }),
  operation({ ...described, id: "closed", paths: ["/closed", "/v1/closed"], access: roles.pushAdmin }),
];
const getStatuses = (path: string): string[] =>
  Object.keys((buildOpenApiDocument(operations).paths[path]?.["get"] as { responses: object }).responses);

describe("the OpenAPI document of operations", () => {
  it("lists every authentication scheme for protected operations only", () => {
    const { paths, components } = buildOpenApiDocument(operations, { ...defaultSchemes, ...bearerScheme });
    const getSecurity = (path: string) => (paths[path]?.["get"] as { security: unknown }).security;
    assert.deepEqual(getSecurity("/open"), []);
    assert.deepEqual(getSecurity("/closed"), [{ basic: [] }, { session: [] }, { bearer: [] }]);
    assert.deepEqual((components as { securitySchemes: unknown }).securitySchemes, {
      ...defaultSchemes,
      ...bearerScheme,
    });
  });

  it("documents 401 and 403 for protected operations only", () => {
    assert.deepEqual(getStatuses("/open"), ["200", "400", "405", "408", "414", "417", "431", "500"]);
    assert.deepEqual(
      getStatuses("/closed").filter((status) => !getStatuses("/open").includes(status)),
      ["401", "403", "429", "503"],
    );
  });

  it("gives each path its own operation id", () => {
    const { paths } = buildOpenApiDocument(operations);
    const getOperationId = (path: string) => (paths[path]?.["get"] as { operationId: string }).operationId;
    assert.deepEqual(["/closed", "/v1/closed"].map(getOperationId), ["closed", "closed_v1"]);
  });
});
