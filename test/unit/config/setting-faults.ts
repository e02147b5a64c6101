import assert from "node:assert/strict";

import { ConfigurationError } from "@topicsync/lib/errors";
import { readConfig } from "../../../src/config/config.ts";

/** The message with which the settings are rejected. */
export function getFaults(environment: Record<string, string>): string {
  try {
    readConfig(environment);
  } catch (error) {
    assert.ok(error instanceof ConfigurationError);
    return error.message;
  }
  assert.fail("the settings were accepted");
}
