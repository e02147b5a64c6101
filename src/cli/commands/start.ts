import type { Command } from "commander";

import { ConfigurationError, exitCodes, getErrorMessage, UnavailableError } from "@topicsync/lib/errors";
import { createLifecycle } from "@topicsync/lib/lifecycle";
import { createLogger, type Logger } from "@topicsync/lib/logger";
import { releaseMemoryWhenIdle } from "@topicsync/lib/memory";
import { resolveAddresses } from "@topicsync/embedded";
import { readEnvironment, readConfig, type Environment } from "../../config/config.ts";
import { startService } from "../../service/service.ts";
import { openTracing } from "../../service/tracing/open.ts";
import { toExitCode } from "../exit-code.ts";

export function defineStart(command: Command): void {
  command.action(async () => {
    process.exit(await runService(process.env));
  });
}

/** Runs the service until a signal or an error ends it. Returns the exit code; throws ConfigurationError. */
async function runService(environment: Environment): Promise<number> {
  const settings = readEnvironment(environment);
  const config = readConfig(settings);
  const log = await createLogger(config.logLevel);
  const lifecycle = createLifecycle(log);
  const ended = Promise.withResolvers<number>();
  const abort = new AbortController();

  const end = (code: number): void => {
    abort.abort();
    ended.resolve(code);
  };
  const fail = (error: unknown): void => {
    if (abort.signal.aborted) return;
    log.fatal({ err: error }, getErrorMessage(error));
    end(error instanceof ConsumerDiedError ? exitCodes.consumerDied : toExitCode(error));
  };
  // A signal may arrive twice, from the terminal and from npm; the second must not cut the drain short.
  const onSignal = (signal: NodeJS.Signals): void => {
    log.info({ signal }, abort.signal.aborted ? "already stopping" : "stopping");
    end(exitCodes.ok);
  };
  process.on("SIGTERM", onSignal).on("SIGINT", onSignal);

  try {
    const tracing = await openTracing(settings, log);
    if (tracing !== undefined) lifecycle.onStop("traces", () => tracing.close());
    const addresses = await resolveAddresses({ config, log, lifecycle, ended: fail });
    if (abort.signal.aborted) throw new UnavailableError("stopped before the service started");
    const onConsumerDeath = (error: unknown): void => {
      if (error instanceof ConfigurationError) fail(error);
      else fail(new ConsumerDiedError(`the consumer died: ${getErrorMessage(error)}`, { cause: error }));
    };
    const service = await startService({
      config,
      addresses,
      log,
      lifecycle,
      tracing,
      abort: abort.signal,
      onDied: onConsumerDeath,
    });
    if (service.reload !== undefined) process.on("SIGHUP", service.reload);
    service.ready.then(() => {
      log.info({ url: service.url }, "topicsync is ready");
      releaseMemoryWhenIdle();
    }, fail);
  } catch (error) {
    fail(error);
  }
  const code = await ended.promise;
  await lifecycle.stop();
  log.info({ exitCode: code }, "stopped");
  await flush(log);
  return code;
}

class ConsumerDiedError extends Error {
  override readonly name = "ConsumerDiedError";
}

const flush = (log: Logger): Promise<void> =>
  new Promise((resolve) => {
    log.flush(() => {
      resolve();
    });
  });
