import { PassThrough } from "node:stream";

import {
  ConfigurationError,
  getErrorMessage,
  OverloadedError,
  RejectionError,
  type Fault,
} from "@topicsync/lib/errors";
import {
  impactBodySchema,
  impactResultSchema,
  type ImpactBody,
  type ImpactResult,
} from "../../schemas/impact.ts";
import { findChangeFaults, toImpactChange, type ProposedTopic } from "../plans/impact/changes.ts";
import { toReadEvent, type ImpactJob, type ImpactPreview } from "../plans/impact/preview.ts";
import type { EventSelection } from "../plans/impact/selection.ts";
import type { Topic } from "../topics/topic.ts";
import { hasRight, includesNamespace } from "../users/rights.ts";
import { describeError, toErrorBody } from "./framework/error-description.ts";
import { bodyRules } from "./framework/body.ts";
import {
  createForbiddenError,
  createNoEventsError,
  HttpError,
  requireNamespace,
} from "./framework/errors.ts";
import { eventStreamType, operation, type Call, type Events, type Operation } from "./framework/operation.ts";
import type { OperationServices } from "./framework/services.ts";
import { createHiddenError } from "./topic-rules.ts";

const defaultExamples = 3;

/** What changes of topics would do to the events of the log. */
export const previewImpact = operation({
  id: "previewImpact",
  method: "POST",
  paths: ["/api/topicsync/v1/impact"],
  access: "topics.write",
  perNamespace: true,
  tag: "topics",
  summary: "Preview a change of filters",
  description:
    "Reads events from the events topic and compares the stored filters of topics with new ones: how many events would match newly, no longer, and still, with examples. Read-only. Reads at most 100,000 records for at most 10 seconds; an instance runs one preview at a time. With `Accept: text/event-stream`, events with `done` and `total` report the progress, and the last one has the `result` or an `error`. The counts tell what events contain, so the caller needs the right `events.read` as well; each preview is audited.",
  body: bodyRules<ImpactBody>(impactBodySchema),
  replies: {
    200: { description: "The result.", schema: impactResultSchema, mediaType: eventStreamType },
  },
  rejections: ["BAD_FILTER", "NOT_FOUND"],
  async handle(call, services) {
    if (!hasRight(call.user, "events.read")) throw createForbiddenError(call.user, "events.read");
    const job = await readJob(services, call);
    const audit = toReadEvent(job);
    const leaving = new AbortController();
    const progress = new PassThrough({ objectMode: true });
    const running = startPreview(services.impact, job, {
      onProgress: (now) => progress.write(now),
      abort: leaving.signal,
    });
    const end = (): unknown => progress.end();
    running.then(end, end);
    if (!call.acceptsEvents) return { status: 200, json: await running.catch(throwUnreadable), audit };
    return { status: 200, events: streamPreview(running, { progress, leaving, call }), audit };
  },
});

export const impactOperations: readonly Operation[] = [previewImpact];

/** Throws RejectionError and HttpError. */
async function readJob({ planReader }: OperationServices, call: Call<ImpactBody>): Promise<ImpactJob> {
  const { changes, examples = defaultExamples } = call.body;
  const selection = toSelection(call.body);
  const faults = await findChangeFaults(changes);
  if (faults.length > 0)
    throw new RejectionError("BAD_FILTER", "The changes contain invalid filters or repeated topics.", faults);
  const externalIds = changes.map(({ externalId }) => externalId);
  const found = await planReader.findKnown(externalIds);
  const stored = new Map(found.map(({ externalId, topic }) => [externalId, topic]));
  return {
    changes: changes.map((change) => {
      const topic = stored.get(change.externalId);
      checkAccess(change, topic, call);
      return toImpactChange(change, topic);
    }),
    selection,
    maxExamples: examples,
  };
}

/** The caller could make the change. Throws an HttpError. */
function checkAccess(
  { externalId, namespace, disable }: ProposedTopic,
  stored: Topic | undefined,
  caller: Pick<Call, "user" | "namespaces">,
): void {
  if (stored !== undefined && !includesNamespace(caller.namespaces, stored.namespace))
    throw createHiddenError(caller, stored.namespace);
  if (stored === undefined && disable === true)
    throw new HttpError("NOT_FOUND", `There is no topic with the external id "${externalId}".`);
  requireNamespace(caller, "topics.write", namespace ?? stored?.namespace ?? "");
}

/** Throws a RejectionError unless at most one way to select events is given. */
function toSelection({ last, from, to, offsets }: ImpactBody): EventSelection {
  const isTime = from !== undefined || to !== undefined;
  const faults: Fault[] = [];
  if (last !== undefined && (isTime || offsets !== undefined))
    faults.push({ path: "/last", message: "cannot be combined with from, to or offsets" });
  if (isTime && offsets !== undefined)
    faults.push({ path: "/offsets", message: "cannot be combined with from or to" });
  if (faults.length > 0)
    throw new RejectionError("SCHEMA_VIOLATION", "The body does not match the schema.", faults);
  const parse = (time: string | undefined) => (time === undefined ? undefined : Date.parse(time));
  return { last, from: parse(from), to: parse(to), offsets };
}

/** Throws an HttpError if it cannot run. */
function startPreview(
  preview: ImpactPreview | undefined,
  ...job: Parameters<ImpactPreview["start"]>
): Promise<ImpactResult> {
  if (preview === undefined) throw createNoEventsError("There are no events to read.");
  try {
    return preview.start(...job);
  } catch (error) {
    if (!(error instanceof OverloadedError)) throw error;
    throw new HttpError("OVERLOADED", "Another preview is running on this instance.", {
      detail: "Try again in 5 seconds.",
      headers: { "Retry-After": "5" },
    });
  }
}

/** Says what an administrator has to change: there is no such Kafka topic, or the service lacks a right. */
export function throwUnreadable(error: unknown): never {
  if (!(error instanceof ConfigurationError)) throw error;
  throw new HttpError("UNAVAILABLE", `The events cannot be read: ${getErrorMessage(error)}.`, {
    detail: "An administrator of Kafka can change that.",
    headers: { "Retry-After": "5" },
    cause: error,
  });
}

interface StreamedPreview {
  readonly progress: PassThrough;
  readonly leaving: AbortController;
  readonly call: Pick<Call, "requestId">;
}

/** The progress, then the result or an error. Stops the preview when the client leaves. */
const streamPreview = (
  running: Promise<ImpactResult>,
  { progress, leaving, call: { requestId } }: StreamedPreview,
): Events =>
  async function* stream(abort) {
    abort.addEventListener("abort", () => {
      leaving.abort();
    });
    yield* progress;
    try {
      yield { result: await running.catch(throwUnreadable) };
    } catch (error) {
      const described = describeError(error, { requestId, operation: "previewImpact", isRead: true });
      if (described.code === "INTERNAL") throw error;
      yield toErrorBody(described);
    }
  };
