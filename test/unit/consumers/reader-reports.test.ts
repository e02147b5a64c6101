import assert from "node:assert/strict";
import { it } from "node:test";

import { ConfigurationError, NotLoadedError, UnavailableError } from "@topicsync/lib/errors";
import { createLogger } from "@topicsync/lib/logger";
import { OtherClusterError } from "../../../consumers/clusters.ts";
import { logFailedClaim } from "../../../consumers/reader-reports.ts";

const lines: string[] = [];
const log = await createLogger("info", { write: (line: string) => void lines.push(line) });

/** The level of the line about a partition that was not claimed. */
function getLevel(error: unknown, wasElsewhere = false): string | undefined {
  lines.length = 0;
  logFailedClaim(error, wasElsewhere, log);
  const levels = lines.map((line) => String((JSON.parse(line) as { readonly level: number }).level));
  return levels.length === 0 ? undefined : log.levels.labels[Number(levels.join())];
}

it("a healthy start with many topics logs no warning", () => {
  assert.equal(getLevel(new NotLoadedError("topics are being loaded: 7 so far")), "info");
});

it("what a partition waits for is a warning, and an error if a person has to do something", () => {
  assert.equal(getLevel(new UnavailableError("MongoDB does not respond")), "warn");
  assert.equal(getLevel(new ConfigurationError("a right is missing")), "warn");
  assert.equal(getLevel(new TypeError("a bug")), "error");
  assert.equal(getLevel(new OtherClusterError("another cluster")), "error");
  assert.equal(getLevel(new OtherClusterError("another cluster"), true), undefined);
});
