/** What a stranger's generator makes of the OpenAPI document: requests that keep to it, and requests that do not. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { schemathesis } from "../../schemathesis/schemathesis.ts";
import { call } from "../../support/http.ts";
import { bootstrap, ownNames, startTopicsync, type TestService } from "../../support/service.ts";
import { sharedStack, testDatabase } from "../../support/stack.ts";

const stack = sharedStack();
const { uri } = testDatabase(stack.mongodb);
const folder = mkdtempSync(join(tmpdir(), "topicsync-schemathesis-"));
const document = join(folder, "openapi.json");
let service: TestService;

after(() => {
  rmSync(folder, { recursive: true, force: true });
});

before(async () => {
  service = await startTopicsync({
    ...ownNames(),
    MONGODB_URI: uri,
    KAFKA_BROKERS: stack.kafka,
    PUSH_APPLICATIONS: "Mobile Agent",
    PUSH_PLATFORMS: "ios",
  });
  await service.ready();
  writeFileSync(document, JSON.stringify(await documentWithExamples()));
});

/** The document, with an application that exists: a made-up name would never come further. */
async function documentWithExamples(): Promise<object> {
  const { json } = await call(`${service.url}/openapi.json`, { method: "GET", as: undefined });
  for (const path of Object.values<Record<string, { parameters?: { name: string; example?: string }[] }>>(
    json.paths,
  ))
    for (const { parameters = [] } of Object.values(path))
      for (const one of parameters) if (one.name === "application") one.example = "Mobile Agent";
  return json as object;
}

async function findsNothing(phases: string, ...args: string[]): Promise<void> {
  const said = await schemathesis(folder, [
    document,
    ...["--url", service.url],
    // Its answer has no end.
    ...["--exclude-operation-id", "streamOverview"],
    ...["--phases", phases, "--max-examples", "8"],
    "--generation-deterministic",
    // That a name exists, or no other topic has it, is more than a schema can say.
    // And it tries wrong passwords on so many operations that they are not even checked any more (429): see access.test.ts.
    ...["--exclude-checks", "positive_data_acceptance,ignored_auth"],
    ...["--continue-on-failure", "--no-shrink", "--warnings", "off"],
    ...args,
  ]);
  assert.match(said, /No issues found/, said);
}

describe("schemathesis finds no 5xx, nothing that is not documented and no breach of a schema", () => {
  it("with credentials", async () => {
    await findsNothing("examples,coverage,fuzzing", "--auth", `${bootstrap.user}:${bootstrap.password}`);
  });

  it("without", async () => {
    // Whatever the request, most operations say no before they look at it.
    await findsNothing("examples,coverage", "--generation-with-security-parameters", "false");
  });

  it("and the service's own log shows no 5xx, from the first request on", () => {
    const statuses = service.log.flatMap(({ status }) => (typeof status === "number" ? [status] : []));
    assert.ok(statuses.length > 1_000, `${statuses.length} requests`);
    assert.deepEqual(
      service.log.filter(({ status }) => Number(status) >= 500),
      [],
    );
  });
});
