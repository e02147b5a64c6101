import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, it } from "node:test";

import { call, type HttpResponse } from "../../support/http.ts";
import { service } from "../../support/shared-service.ts";

const get = (path: string): Promise<HttpResponse> =>
  call(`${service.url}${path}`, { method: "GET", as: undefined });

describe("the OpenAPI document", () => {
  it("is served as committed, without credentials", async () => {
    const { status, json } = await get("/openapi.json");
    assert.equal(status, 200);
    const committed = await readFile(new URL("../../../docs/openapi.json", import.meta.url), "utf8");
    assert.deepEqual(json, JSON.parse(committed));
  });
});

describe("the root", () => {
  it("redirects to the console", async () => {
    const { status, headers } = await get("/");
    assert.deepEqual([status, headers.get("location")], [302, "/console"]);
  });
});

describe("the documentation page", () => {
  it("allows no inline scripts and no external resources", async () => {
    const { status, headers, text } = await get("/docs");
    assert.equal(status, 200);
    assert.match(headers.get("content-security-policy") ?? "", /^default-src 'none';script-src 'self';/);
    assert.doesNotMatch(text, /<script(?![^>]*\bsrc=)/);
    for (const [, url = ""] of text.matchAll(/(?:src|href)="([^"]*)"/g))
      assert.match(url, /^\/docs\/|^data:,$/);
  });

  it("loads only files that exist, and browsers may cache them", async () => {
    const { text } = await get("/docs");
    const files = Array.from(text.matchAll(/(?:src|href)="(\/docs\/[^"]*)"/g), ([, file = ""]) => file);
    assert.deepEqual(files.map((file) => file.replace(/.*\./, "")).toSorted(), ["css", "js", "js"]);
    for (const file of files) {
      const { status, headers, text: content } = await get(file);
      assert.equal(status, 200, file);
      assert.match(
        headers.get("content-type") ?? "",
        file.endsWith(".css") ? /^text\/css/ : /^text\/javascript/,
      );
      assert.match(headers.get("cache-control") ?? "", /max-age/);
      assert.notEqual(content, "");
    }
  });

  it("serves no other files", async () => {
    for (const file of [
      "nothing.js",
      "package.json",
      "..%2Fpackage.json",
      "%2e%2e%2f%2e%2e%2fpackage.json",
      "constructor",
    ])
      assert.equal((await get(`/docs/${file}`)).status, 404, file);
  });
});
