import { pino, type Logger } from "pino";

export type { Logger };

/** Members that must never be seen in a log, wherever they stand in a logged object's first two levels. */
const secrets = ["authorization", "password", "password_hash", "token"];

/**
 * Makes the program's logger: readable lines when it goes to a terminal, JSON lines otherwise. A command whose answer
 * goes to standard output logs to standard error. Secrets are replaced by `[redacted]`.
 */
export async function createLogger(level: string, to: "stdout" | "stderr" = "stdout"): Promise<Logger> {
  const options = {
    level,
    base: null,
    redact: { paths: secrets.flatMap((name) => [name, `*.${name}`]), censor: "[redacted]" },
  };
  const { isTTY, fd: destination } = process[to];
  if (!isTTY) return pino(options, pino.destination({ dest: destination, sync: to === "stderr" }));
  const { default: pretty } = await import("pino-pretty");
  return pino(
    options,
    pretty({ translateTime: "SYS:HH:MM:ss.l", ignore: "pid,hostname", sync: true, destination }),
  );
}
