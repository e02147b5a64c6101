import { lazily } from "@topicsync/lib/lazily";
import { ConfigurationError, NotLoadedError, RejectionError } from "@topicsync/lib/errors";
import { describeError } from "../../operations/framework/error-description.ts";
import { HttpError, statuses } from "../../operations/framework/errors.ts";
import { toEtag } from "../../operations/framework/if-match.ts";
import type { Call, Operation } from "../../operations/framework/operation.ts";
import type { DeadLetterServices, OperationServices } from "../../operations/framework/services.ts";
import { createRequestBackfill } from "../../service/backfills.ts";
import { createEgressNamingFromConfig } from "../../service/egress-naming.ts";
import { rights } from "../../users/rights.ts";
import type { User } from "../../users/user.ts";
import { getCommandLineUser, type CommandContext } from "../context.ts";
import { createLongProgress, type Progress } from "../output/progress.ts";
import {
  toTexts,
  type OperationClient,
  type OperationRequest,
  type OperationResult,
} from "./operation-client.ts";
import { toRequestError } from "./request-error.ts";

/**
 * Calls operations in this process, with the database of the settings. The caller is the user of the machine,
 * who has all rights: a person who can connect to the database can change it anyway.
 */
export function createLocalClient(context: CommandContext): OperationClient {
  const user: User = { name: getCommandLineUser(), roles: rights, active: true };
  let opened: Promise<OperationServices> | undefined;
  async function call<T>(operation: Operation, request: OperationRequest = {}): Promise<OperationResult<T>> {
    const given = toCall(operation, request, user);
    // Nothing is changed if it cannot be recorded.
    if (isChange(operation)) context.audit();
    const services = await (opened ??= openOperationServices(context));
    const reply = await waitForTopics(context, () => operation.handle(given, services));
    for (const event of [reply.audit ?? []].flat()) context.audit()(event);
    if (reply.failure !== undefined) throw reply.failure;
    const warnings = reply.headers?.["Topicsync-Warning"] ?? [];
    return { json: reply.json as T, warnings: [warnings].flat() };
  }
  return {
    abort: context.abort,
    call: <T>(operation: Operation, request?: OperationRequest) =>
      call<T>(operation, request).catch((error: unknown) => {
        throw toCommandError(error);
      }),
  };
}
/** Throws a RejectionError for a query or body that is not valid. */
const toCall = (
  operation: Operation,
  { parameters = {}, query = {}, body, ifMatch }: OperationRequest,
  user: User,
): Call => ({
  ...{ parameters, user, namespaces: "all", session: undefined },
  query: operation.query?.read(toTexts(query)),
  body: checkBody(operation, body),
  ifMatch: ifMatch === undefined ? "" : ifMatch === "*" ? "*" : toEtag(ifMatch),
  ...{ address: "", secure: true, basePath: "", requestId: "" },
  ...{ cookies: "", acceptEncoding: "", acceptsEvents: false },
  claimUser: () => undefined,
});

const isChange = ({ method, access }: Operation): boolean => method !== "GET" && !/\.read\b/.test(access);

/** Repeats the work while topics are being loaded, for at most five minutes. */
async function waitForTopics<T>({ abort }: CommandContext, work: () => T | Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1)
    try {
      return await work();
    } catch (error) {
      // The index waits ten seconds before it throws this.
      if (!(error instanceof NotLoadedError) || abort.aborted || attempt === 30) throw error;
    }
}

function checkBody({ body: rules }: Operation, body: OperationRequest["body"]): unknown {
  if (rules === undefined) return undefined;
  const checked = rules.check(typeof body === "string" && rules.parse ? rules.parse(body) : body);
  if (checked.ok) return checked.value;
  throw new RejectionError("SCHEMA_VIOLATION", "The input is not valid.", checked.faults);
}

async function openOperationServices(context: CommandContext): Promise<OperationServices> {
  const [services, { openEventLog }] = await Promise.all([
    context.services(),
    import("../../service/event-log.ts"),
  ]);
  const needService = (): never => {
    throw new ConfigurationError("this needs a running service: name it with --server or TOPICSYNC_SERVER.");
  };
  return lazily<OperationServices, typeof services>(
    {
      egressNaming: () => createEgressNamingFromConfig(context.config.kafka),
      eventLog: () =>
        openEventLog(context.config.kafka, { ...services, ...context, connect: context.broker }),
      impact: needService,
      requestBackfill: () =>
        createRequestBackfill(context.config.kafka, {
          store: services.backfillStore,
          broker: context.broker,
        }),
      deadLetters: () => openDeadLetters(context),
      getSyncStatus: needService,
      getOverview: needService,
      checkReadiness: needService,
      verifyAfresh: needService,
      metrics: needService,
    },
    services,
  );
}

/** Reading fewer shows no progress. */
const longRead = 10_000;

/** The dead letters of the settings' Kafka. This process reads new ones while no service does. */
async function openDeadLetters({
  config,
  broker,
  services,
  abort,
  log,
}: CommandContext): Promise<DeadLetterServices> {
  let progress: Progress | undefined;
  // Slow to load, and most commands do not need it.
  const { createDeadLetters } = await import("../../service/dead-letters.ts");
  return createDeadLetters(config.kafka, {
    broker: await broker(),
    services: await services(),
    abort,
    log,
    onProgress(read, total) {
      progress ??= createLongProgress("reading dead letters", total, longRead);
      progress.at(read);
      if (read === total) progress.end(`read ${total} dead letters`);
    },
  }).services;
}

/** Failures of this machine are thrown as they are. */
function toCommandError(error: unknown): unknown {
  const { code, message, detail = "", status = statuses[code] } = describeError(error, { requestId: "" });
  if (!(error instanceof HttpError) && (code === "INTERNAL" || code === "UNAVAILABLE")) return error;
  return toRequestError({ status, code, message, detail });
}
