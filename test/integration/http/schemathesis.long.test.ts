/** Requests that schemathesis generates from the OpenAPI document, valid and invalid. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { runSchemathesis } from "../../schemathesis/schemathesis.ts";
import { call } from "../../support/http.ts";
import { useService } from "../../support/scene.ts";
import { bootstrap } from "../../support/service.ts";

const service = useService({ PUSH_APPLICATIONS: "Mobile Agent", PUSH_PLATFORMS: "ios" });
const folder = mkdtempSync(join(tmpdir(), "topicsync-schemathesis-"));
const document = join(folder, "openapi.json");

after(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** The document with an existing application as example: generated names would all be rejected. */
async function createDocument(): Promise<object> {
  const { json } = await call(`${service.url}/openapi.json`, { method: "GET", as: undefined });
  for (const path of Object.values<Record<string, { parameters?: { name: string; example?: string }[] }>>(
    json.paths,
  ))
    for (const { parameters = [] } of Object.values(path))
      for (const one of parameters) if (one.name === "application") one.example = "Mobile Agent";
  return json as object;
}

/** RFC 6585, section 3: 428 where a request must be conditional. */
const settings = `
[checks.missing_required_header]
expected-statuses = [400, 401, 403, 406, 415, 422, 428]
`;

async function assertNoIssues(phases: string, ...args: string[]): Promise<void> {
  const output = await runSchemathesis(folder, [
    document,
    ...["--url", service.url],
    // Its response does not end.
    ...["--exclude-operation-id", "streamOverview"],
    ...["--phases", phases, "--max-examples", "8"],
    "--generation-deterministic",
    // A schema cannot express that a name exists or is free.
    // ignored_auth tries too many wrong passwords and only gets 429; access.test.ts covers this.
    ...["--exclude-checks", "positive_data_acceptance,ignored_auth"],
    ...["--continue-on-failure", "--no-shrink", "--warnings", "off"],
    ...args,
  ]);
  console.error(output);
  assert.match(output, /No issues found/, output);
}

describe("schemathesis finds no 5xx, no undocumented response and no schema violation", () => {
  before(async () => {
    writeFileSync(document, JSON.stringify(await createDocument()));
    // Read from the working directory.
    writeFileSync(join(folder, "schemathesis.toml"), settings);
  });

  it("with credentials", async () => {
    await assertNoIssues("examples,coverage,fuzzing", "--auth", `${bootstrap.user}:${bootstrap.password}`);
  });

  it("without credentials", async () => {
    // Most operations reject the request before validating it, so invalid ones are like valid ones.
    await assertNoIssues(
      "examples,coverage",
      "--generation-with-security-parameters",
      "false",
      "--mode",
      "positive",
    );
  });

  it("and the log contains no 5xx", () => {
    const statuses = service.log.flatMap(({ status }) => (typeof status === "number" ? [status] : []));
    assert.ok(statuses.length > 1_000, `${statuses.length} requests`);
    assert.deepEqual(
      service.log.filter(({ status }) => Number(status) >= 500),
      [],
    );
  });
});
