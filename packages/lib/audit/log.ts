import { closeSync, openSync } from "node:fs";

import type { DestinationStream } from "pino";

import type { Audit, AuditEntry } from "./audit.ts";
import { ConfigurationError, getErrorMessage } from "../errors.ts";
import { getLogOutput, openLineFile, type Logger } from "../logger.ts";
import { oncePerMinute } from "../concurrency/once-per-minute.ts";

/** Writes JSON lines, each with `"audit":true` and the action as its message. */
export interface AuditLog extends Audit {
  readonly inFile: boolean;
  /** Reopens the file after a rotation. */
  reopen(): void;
  /** Writes the buffered lines. */
  close(): Promise<void>;
}

/** Reached only when the disk is full or gone; further lines are then dropped, and the drop is logged. */
const maxBufferedBytes = 64 * 1024 * 1024;

/**
 * Opens the audit log: `stdout` (between the log lines), `off`, or the path of a file to append to. Throws a
 * ConfigurationError when the file cannot be written.
 */
export function openAuditLog(target: string, log: Logger): AuditLog {
  if (target === "off") return { on: false, record: () => undefined, recordAll: () => undefined, ...noFile };
  if (target === "stdout") return { ...createAudit(getLogOutput(log)), ...noFile };
  checkWritable(target);
  const { file, write } = openLineFile({ dest: target, append: true, maxLength: maxBufferedBytes });
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
    ...createAudit({ write }),
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

function createAudit(stream: Pick<DestinationStream, "write">): Audit {
  function recordAll(entries: readonly AuditEntry[]): void {
    for (let first = 0; first < entries.length; first += linesPerWrite)
      stream.write(
        entries
          .slice(first, first + linesPerWrite)
          .map(formatLine)
          .join(""),
      );
  }
  return {
    on: true,
    record(event, origin) {
      recordAll([{ event, origin }]);
    },
    recordAll,
  };
}

/** About 20 kB: the output gathers such writes, and the end of the process cuts few lines off. */
const linesPerWrite = 100;

/** Pino's number for the level `info`, so that these lines fit between those of the log. */
const infoLevel = 30;

/** A line as pino writes it. Level and redaction of the service's log do not apply, and would cost time. */
function formatLine({ event: { action, ...details }, origin }: AuditEntry): string {
  return `${JSON.stringify({ level: infoLevel, time: Date.now(), audit: true, ...origin, ...details, msg: action })}\n`;
}

function checkWritable(path: string): void {
  try {
    closeSync(openSync(path, "a"));
  } catch (error) {
    throw new ConfigurationError(`AUDIT_LOG cannot be written: ${getErrorMessage(error)}`);
  }
}
