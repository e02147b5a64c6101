/** A preview in a thread of its own; see impact-preview.ts. */
import { parentPort, workerData } from "node:worker_threads";

import { createBroker } from "@topicsync/kafka/client";
import { ConfigurationError, getErrorMessage, RejectionError, UnavailableError } from "@topicsync/lib/errors";
import { createLogger } from "@topicsync/lib/logger";
import { elapsed, now } from "@topicsync/lib/platform";
import { ImpactCounts } from "../../plans/impact/counts.ts";
import { maxImpactEvents, type ImpactResult } from "../../../schemas/impact.ts";
import type { PreviewError, PreviewMessage, WorkerInput } from "./impact-preview.ts";
import { nameRecord, readEvents } from "./read-events.ts";

const progressIntervalMs = 100;
const send = (message: PreviewMessage): void => parentPort?.postMessage(message);

async function preview({
  kafka,
  topic,
  proofKey,
  job,
  startedOn,
  limitMs,
}: WorkerInput): Promise<ImpactResult> {
  const leftMs = Math.max(0, Math.min(limitMs, startedOn + limitMs - now()));
  const endsAt = elapsed() + leftMs;
  const deadline = { signal: AbortSignal.timeout(leftMs), hasPassed: () => elapsed() >= endsAt };
  const counts = new ImpactCounts(job.changes, {
    maxExamples: job.maxExamples,
    nameEvent: nameRecord(topic),
  });
  const broker = createBroker(kafka, await createLogger("silent"));
  let reportedAt = -Infinity;
  try {
    const source = {
      ...{ kafka: broker, topic, maxEventBytes: kafka.maxEventBytes },
      proofKey: proofKey && Buffer.from(proofKey),
    };
    const result = await readEvents(source, counts, {
      selection: job.selection,
      ...{ maxOffsets: maxImpactEvents, deadline, abort: new AbortController().signal },
      onProgress(done, total) {
        if (elapsed() - reportedAt < progressIntervalMs) return;
        reportedAt = elapsed();
        send({ kind: "progress", done, total });
      },
    });
    return counts.toResult(result);
  } finally {
    await broker.close();
  }
}

function toPreviewError(error: unknown): PreviewError {
  const message = getErrorMessage(error);
  if (error instanceof RejectionError)
    return { name: error.name, message, code: error.code, details: error.details };
  if (error instanceof UnavailableError || error instanceof ConfigurationError)
    return { name: error.name, message };
  return { name: "Error", message: error instanceof Error ? (error.stack ?? message) : message };
}

try {
  send({ kind: "result", result: await preview(workerData as WorkerInput) });
} catch (error) {
  send({ kind: "error", error: toPreviewError(error) });
}
