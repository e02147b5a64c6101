import assert from "node:assert/strict";
import { it } from "node:test";

import { stripParameters } from "../../../../http/framework/context.ts";

it("leaves media ranges and their weights of an Accept header", () => {
  for (const [accept, expected] of [
    ["application/json", "application/json"],
    ["application/json; charset=utf-8", "application/json"],
    ["application/json;q=0.8;charset=utf-8", "application/json;q=0.8"],
    ["application/json; odata=verbose; Q=0", "application/json; Q=0"],
    ['text/html;level="1,2;q=0" ;q=0.5, */*;q=.2', "text/html;q=0.5, */*;q=.2"],
    ['a/b;x="\\";q=0", c/d', "a/b, c/d"],
    ['a/b;x="', "a/b"],
    ['a/b;x="\\', "a/b"],
  ] as const)
    assert.equal(stripParameters(accept), expected, accept);
});
