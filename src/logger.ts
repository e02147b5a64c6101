import { pino, type Logger } from "pino";

export type { Logger };

/** Members that must never be seen in a log, wherever they stand in a logged object's first two levels. */
const secrets = ["authorization", "password", "password_hash", "token"];

/**
 * Makes the program's logger: readable lines when standard output is a terminal, JSON lines otherwise.
 * Secrets are replaced by `[redacted]`.
 */
export async function createLogger(level: string): Promise<Logger> {
  const options = {
    level,
    base: null,
    redact: { paths: secrets.flatMap((name) => [name, `*.${name}`]), censor: "[redacted]" },
  };
  if (!process.stdout.isTTY) return pino(options, pino.destination({ dest: 1, sync: false }));
  const { default: pretty } = await import("pino-pretty");
  return pino(options, pretty({ translateTime: "SYS:HH:MM:ss.l", ignore: "pid,hostname", sync: true }));
}
