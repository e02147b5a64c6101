import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Where a contestant reads and writes. */
export interface Arena {
  readonly brokers: string;
  readonly uri: string;
  readonly topic: string;
}

const root = join(import.meta.dirname, "..");

/** The least that anybody would write; see floor.ts. */
export const startFloor = ({ brokers, uri, topic }: Arena): ChildProcess =>
  spawn(process.execPath, [join(root, "bench/floor.ts"), brokers, uri, topic], {
    stdio: ["ignore", "ignore", "inherit"],
  });

/** The service, built, as it runs in production. */
export const startService = ({ brokers, uri, topic }: Arena): ChildProcess =>
  spawn(process.execPath, [join(root, "dist/src/cli.js"), "start"], {
    stdio: ["ignore", "ignore", "inherit"],
    env: {
      ...process.env,
      LOG_LEVEL: "info",
      HTTP_PORT: "0",
      MONGODB_URI: uri,
      KAFKA_BROKERS: brokers,
      KAFKA_ANNOUNCEMENTS_TOPIC: topic,
      KAFKA_DEAD_LETTER_TOPIC: `${topic}.dead-letter`,
      KAFKA_GROUP_ID: `bench-${new URL(uri).pathname.slice(1)}`,
    },
  });

/** Ends a contestant. */
export async function end(child: ChildProcess): Promise<void> {
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  await ended;
}

/** The memory that a process holds, in MB; undefined where the system does not tell. */
export function memoryOf({ pid = 0 }: ChildProcess): number | undefined {
  try {
    const kilobytes = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    return kilobytes === undefined ? undefined : Math.round(Number(kilobytes) / 1024);
  } catch {
    return undefined;
  }
}
