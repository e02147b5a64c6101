import { CommanderError } from "commander";

import {
  ConfigurationError,
  DatabaseConflictError,
  exitCodes,
  PlanError,
  RejectionError,
  UnavailableError,
} from "@topicsync/lib/errors";
import { RequestError } from "./client/request-error.ts";

/** The exit code of a command that ended with an error. */
export function toExitCode(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  if (error instanceof RequestError) return error.exitCode;
  if (error instanceof ConfigurationError) return exitCodes.configuration;
  if (error instanceof DatabaseConflictError) return exitCodes.databaseConflict;
  if (error instanceof RejectionError || error instanceof PlanError) return exitCodes.rejected;
  if (error instanceof UnavailableError) return exitCodes.unavailable;
  return exitCodes.failure;
}
