import { extname } from "node:path";
import { Worker } from "node:worker_threads";

import type { KafkaConfig } from "@topicsync/kafka";
import {
  ConfigurationError,
  KafkaUnavailableError,
  OverloadedError,
  RejectionError,
  UnavailableError,
  type Fault,
  type RejectionCode,
} from "@topicsync/lib/errors";
import { now, schedule } from "@topicsync/lib/platform";
import type { ImpactResult } from "../../../schemas/impact.ts";
import type {
  ImpactJob,
  ImpactPreview,
  ImpactProgress,
  PreviewListener,
} from "../../plans/impact/preview.ts";

interface PreviewOptions {
  readonly kafka: KafkaConfig & { readonly brokers: readonly string[] };
  /** The events topic. */
  readonly topic: string;
  /** See Services. */
  readonly findReplayKey: () => Promise<Buffer | undefined>;
  /** Aborted when the service stops. */
  readonly stopping: AbortSignal;
}

/** What the thread is given. */
export interface WorkerInput extends Pick<PreviewOptions, "kafka" | "topic"> {
  readonly proofKey: Uint8Array | undefined;
  readonly job: ImpactJob;
  /** Milliseconds since 1970: each thread counts from another time. */
  readonly startedOn: number;
  readonly limitMs: number;
}

/** An error that a thread reports: errors of our classes cannot be sent. */
export interface PreviewError {
  readonly name: string;
  readonly message: string;
  /** Of a RejectionError. */
  readonly code?: RejectionCode;
  readonly details?: readonly Fault[];
}

/** What a thread sends. */
export type PreviewMessage =
  | ({ readonly kind: "progress" } & ImpactProgress)
  | { readonly kind: "result"; readonly result: ImpactResult }
  | { readonly kind: "error"; readonly error: PreviewError };

/** A preview returns what it has after this time. */
const limitMs = 10_000;
/** After it, a thread that does not end is ended. */
const graceMs = 3_000;
const maxMemoryMb = 512;
const workerFile = new URL(`impact-worker${extname(import.meta.filename)}`, import.meta.url);

/** The client id of previews and backtests, for which brokers can have a quota of its own. */
export const toImpactClient = <T extends Pick<KafkaConfig, "clientId">>(kafka: T): T => ({
  ...kafka,
  clientId: `${kafka.clientId}-impact`,
});

/** Runs one preview at a time, in a thread with a client of its own. */
export function createImpactPreview(options: PreviewOptions): ImpactPreview {
  let isBusy = false;

  async function run(job: ImpactJob, listener: PreviewListener): Promise<ImpactResult> {
    const startedOn = now();
    try {
      const proofKey = await options.findReplayKey();
      const kafka = toImpactClient(options.kafka);
      const input = { kafka, topic: options.topic, proofKey, job, startedOn, limitMs };
      const abort = AbortSignal.any([listener.abort, options.stopping]);
      return await runWorker(input, { ...listener, abort });
    } finally {
      isBusy = false;
    }
  }

  return {
    start(job, listener) {
      if (isBusy) throw new OverloadedError("another preview is running");
      isBusy = true;
      return run(job, listener);
    },
  };
}

async function runWorker(
  workerData: WorkerInput,
  { onProgress, abort }: PreviewListener,
): Promise<ImpactResult> {
  const { promise, resolve, reject } = Promise.withResolvers<ImpactResult>();
  const worker = new Worker(workerFile, {
    workerData,
    resourceLimits: { maxOldGenerationSizeMb: maxMemoryMb },
  });
  worker.on("message", (message: PreviewMessage) => {
    if (message.kind === "progress") onProgress({ done: message.done, total: message.total });
    else if (message.kind === "result") resolve(message.result);
    else reject(toError(message.error));
  });
  worker.once("error", reject);
  worker.once("exit", () => {
    reject(new Error("the thread of the preview ended"));
  });
  const stop = (): void => {
    reject(new UnavailableError("the preview was stopped"));
  };
  abort.addEventListener("abort", stop, { once: true });
  if (abort.aborted) stop();
  const cancel = schedule(limitMs + graceMs, () => {
    reject(new KafkaUnavailableError("Kafka does not respond: the preview took too long"));
  });
  try {
    return await promise;
  } finally {
    cancel();
    abort.removeEventListener("abort", stop);
    await worker.terminate();
  }
}

function toError({ name, message, code, details }: PreviewError): Error {
  if (code !== undefined) return new RejectionError(code, message, details);
  if (name === "ConfigurationError") return new ConfigurationError(message);
  return name === "UnavailableError" ? new KafkaUnavailableError(message) : new Error(message);
}
