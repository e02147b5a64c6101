import { ConfigurationError, exitCodes } from "@topicsync/lib/errors";
import type { EgressNaming } from "@topicsync/kafka";
import { createEgressNamingFromConfig } from "../../../service/egress-naming.ts";
import type { TopicView } from "../../../../schemas/topics/view.ts";
import { createLocalClient } from "../../client/local.ts";
import { readTopics } from "../../client/topics.ts";
import type { CommandContext } from "../../context.ts";
import { printItems } from "../../output/items.ts";
import { printLine, sanitize } from "../../output/output.ts";

export interface EgressFlags {
  readonly create?: true;
  readonly json?: true;
}

/** `misnamed`: no Kafka topic can have the name. `unused`: no stored topic has it. */
type EgressState = "missing" | "created" | "failed" | "misnamed" | "unused";

/** A Kafka topic that is not as the stored topics need it. */
interface EgressFinding {
  readonly egressTopic: string;
  readonly state: EgressState;
  /** The stored topic, or one of those whose events go there. */
  readonly externalId?: string;
  readonly reason?: string;
}

/** Kafka topics created together. */
const topicsPerCreation = 200;

/**
 * Prints what differs while the stored topics are read. Throws ConfigurationError without a router, and
 * UnavailableError.
 */
export async function compareEgressTopics(
  context: CommandContext,
  { create, json }: EgressFlags,
): Promise<void> {
  const { kafka } = context.config;
  const { router } = kafka;
  const naming = createEgressNamingFromConfig(kafka);
  if (router === undefined || naming === undefined)
    throw new ConfigurationError("KAFKA_EVENTS_TOPIC is not set: no events are forwarded");
  const egressTopics = (await context.broker()).createEgressTopics(router.newEgress);
  const topics = readTopics(createLocalClient(context), {}, { showsCount: true });
  const comparison = compare(topics, naming, {
    existing: await egressTopics.list(),
    create: create && ((names) => egressTopics.create(names)),
  });
  const counts = new Map<EgressState, number>();
  async function* find(): AsyncGenerator<EgressFinding> {
    for await (const finding of comparison) {
      counts.set(finding.state, (counts.get(finding.state) ?? 0) + 1);
      // For people, the summary counts them.
      if (finding.state !== "created" || json) yield finding;
    }
  }
  const { abort } = context;
  if ((await printItems(find(), { json: json === true, columns, toRow, abort })) === undefined) return;
  if (faults.some((state) => counts.has(state))) process.exitCode = exitCodes.rejected;
  if (!json) printLine(summarize(counts));
}

const faults: readonly EgressState[] = ["missing", "failed", "misnamed"];

interface ComparisonOptions {
  readonly existing: readonly string[];
  /** Undefined: missing Kafka topics are only listed. */
  readonly create: ((names: readonly string[]) => Promise<ReadonlyMap<string, string>>) | undefined;
}

async function* compare(
  topics: AsyncIterable<TopicView>,
  naming: EgressNaming,
  { existing, create }: ComparisonOptions,
): AsyncGenerator<EgressFinding> {
  const known = new Set(existing);
  const unused = new Set(naming.fixedName === undefined ? existing.filter(naming.matches) : []);
  let missing: EgressFinding[] = [];

  async function* flush(): AsyncGenerator<EgressFinding> {
    const reasons = await create?.(missing.map(({ egressTopic }) => egressTopic));
    for (const finding of missing) {
      const reason = reasons?.get(finding.egressTopic);
      if (reason !== undefined) yield { ...finding, state: "failed", reason };
      else yield { ...finding, state: create === undefined ? "missing" : "created" };
    }
    missing = [];
  }

  for await (const { externalId, egressTopic = "", egressFault } of topics) {
    unused.delete(egressTopic);
    if (known.has(egressTopic)) continue;
    // Several topics may have the same Kafka topic, which is listed once.
    known.add(egressTopic);
    if (egressFault !== undefined) yield { egressTopic, state: "misnamed", externalId, reason: egressFault };
    else missing.push({ egressTopic, state: "missing", externalId });
    if (missing.length === topicsPerCreation) yield* flush();
    if (naming.fixedName !== undefined) break;
  }
  if (missing.length > 0) yield* flush();
  for (const egressTopic of unused) yield { egressTopic, state: "unused" };
}

const columns = [
  { head: "state", width: 10 },
  { head: "kafka topic", width: 60 },
  { head: "external id", width: 40 },
  { head: "reason" },
];

const toRow = ({ egressTopic, state, externalId = "", reason = "" }: EgressFinding): string[] =>
  [state, egressTopic, externalId, reason].map(sanitize);

function summarize(counts: ReadonlyMap<EgressState, number>): string {
  if (counts.size === 0) return "Every topic has its Kafka topic.";
  const parts = [...counts].map(([state, count]) => `${count} ${state}`);
  return `Kafka topics: ${parts.join(", ")}`;
}
