import assert from "node:assert/strict";
import { describe, it } from "node:test";

import {
  bearerScheme,
  buildOpenApiDocument,
  defaultSchemes,
  type OpenApiDocument,
} from "../../../http/openapi/document.ts";
import { operation } from "../../../src/operations/framework/operation.ts";

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
  operation({ ...described, id: "closed", paths: ["/closed", "/v1/closed"], access: "admin" }),
];

interface DescribedOperation {
  readonly operationId: string;
  readonly responses: object;
  readonly security: unknown;
}

function getOperation({ paths }: OpenApiDocument, path: string): DescribedOperation {
  const described = paths[path]?.["get"];
  assert.ok(described, `GET ${path} is missing`);
  return described as DescribedOperation;
}

const getStatuses = (path: string): string[] =>
  Object.keys(getOperation(buildOpenApiDocument(operations), path).responses);

describe("the OpenAPI document of operations", () => {
  it("lists every authentication scheme for protected operations only", () => {
    const document = buildOpenApiDocument(operations, { ...defaultSchemes, ...bearerScheme });
    assert.deepEqual(getOperation(document, "/open").security, []);
    assert.deepEqual(getOperation(document, "/closed").security, [
      { basic: [] },
      { key: [] },
      { session: [] },
      { bearer: [] },
    ]);
    assert.deepEqual((document.components as { securitySchemes: unknown }).securitySchemes, {
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
    const document = buildOpenApiDocument(operations);
    assert.equal(getOperation(document, "/closed").operationId, "closed");
    assert.equal(getOperation(document, "/v1/closed").operationId, "closed_v1");
  });
});
