import { closeSync, openSync } from "node:fs";

import { pino, type DestinationStream } from "pino";

import type { Audit } from "./audit.ts";
import { ConfigurationError, getErrorMessage } from "./errors.ts";
import { openLineFile } from "./line-file.ts";
import { getLogOutput, type Logger } from "./logger.ts";
import { oncePerMinute } from "./once-per-minute.ts";

/** The audit as lines of JSON, each with `"audit":true` and the action as its message. */
export interface AuditLog extends Audit {
  readonly inFile: boolean;
  /** Opens the file again, after it was moved away. */
  reopen(): void;
  /** Writes what still waits. */
  close(): Promise<void>;
}

/** More than this waits only where the disk is full or gone: then lines are lost, and the log says so. */
const maxBufferedBytes = 64 * 1024 * 1024;

/**
 * Opens the audit: `stdout` (where the log goes, between its lines), `off`, or the path of a file that is appended to.
 * Throws a ConfigurationError when the file cannot be written.
 */
export function openAuditLog(to: string, log: Logger): AuditLog {
  if (to === "off") return { on: false, record: () => undefined, ...noFile };
  if (to === "stdout") return { ...auditTo(getLogOutput(log)), ...noFile };
  checkWritable(to);
  const { file, write } = openLineFile({ dest: to, append: true, maxLength: maxBufferedBytes });
  file.on("error", (error: unknown) => {
    log.error({ reason: getErrorMessage(error) }, "audit log write failed");
  });
  file.on(
    "drop",
    oncePerMinute((lost) => {
      log.error({ lost }, "audit lines dropped: written slower than they arrive");
    }),
  );
  return {
    ...auditTo({ write }),
    inFile: true,
    reopen() {
      file.reopen();
    },
    close: () =>
      new Promise((resolve) => {
        file.once("close", resolve).once("error", resolve).end();
      }),
  };
}

const noFile = {
  inFile: false,
  reopen: () => undefined,
  close: () => Promise.resolve(),
} as const;

function auditTo(stream: DestinationStream): Audit {
  // Not the log's own logger: neither its level nor its redaction have anything to do here, and both cost time.
  const out = pino({ level: "info", base: null }, stream);
  return {
    on: true,
    record({ action, ...what }, origin) {
      out.info({ audit: true, ...origin, ...what }, action);
    },
  };
}

function checkWritable(path: string): void {
  try {
    closeSync(openSync(path, "a"));
  } catch (error) {
    throw new ConfigurationError(`AUDIT_LOG cannot be written: ${getErrorMessage(error)}`);
  }
}
