import type { TopicConsumersView } from "../../../schemas/topic-consumers.ts";
import { readConsumers } from "../../service/consumers.ts";
import { createEgressNamingFromConfig } from "../../service/egress-naming.ts";
import { ConfigurationError, UnavailableError } from "../../lib/errors.ts";
import { groupByTopic, toObservation, type Observation } from "../../routing/consumers.ts";
import { observationLimit, toConsumersView } from "../../routing/consumers-view.ts";
import type { EgressNaming } from "../../kafka/interface/egress-naming.ts";
import type { CommandContext } from "../context.ts";
import { formatCount } from "../output/format.ts";
import type { JsonFlag } from "../input/options.ts";
import { openOutput, printError, sanitize } from "../output/output.ts";
import { createTableWriter } from "../output/table.ts";
import { readChosenTopics } from "./chosen-topics.ts";

const columns = [
  { head: "external id", width: 40 },
  { head: "egress topic", width: 40 },
  { head: "group" },
  { head: "state" },
  { head: "members" },
  { head: "lag" },
  { head: "clients", width: 60 },
];

/**
 * Prints the consumers of topics, by default of all that have some; topics with one egress topic are then
 * represented by one of them. Throws ConfigurationError without a router, and UnavailableError.
 */
export async function showConsumers(
  context: CommandContext,
  externalIds: readonly string[],
  { json }: JsonFlag,
): Promise<void> {
  const { kafka } = context.config;
  const naming = createEgressNamingFromConfig(kafka);
  if (naming === undefined)
    throw new ConfigurationError("KAFKA_EVENTS_TOPIC is not set: no events are forwarded");
  const asOf = new Date();
  const { groups, problems } = await readConsumers(await context.broker(), kafka, naming);
  const observation = toObservation({ asOf, isReading: false, problems, byTopic: groupByTopic(groups) });
  const output = openOutput();
  const table = json ? undefined : await createTableWriter(output, columns);
  const listed = new Set<string>();
  let count = 0;
  for await (const view of listViews(context, externalIds, { naming, observation })) {
    if (context.abort.aborted) throw new UnavailableError(`stopped after ${formatCount(count, "topic")}`);
    if (externalIds.length === 0) {
      const { egressTopic } = view;
      if (egressTopic === null || view.observed.groups.length === 0 || listed.has(egressTopic)) continue;
      listed.add(egressTopic);
    }
    count += 1;
    if (table === undefined) {
      if (!(await output.write(`${JSON.stringify(view)}\n`))) return;
    } else for (const row of toRows(view)) if (!(await table.add(row))) return;
    if (externalIds.length === 0 && naming.fixedName !== undefined) break;
  }
  if (table === undefined) return;
  if (count > 0) await table.end();
  else await output.write("No consumers were observed.\n");
  for (const problem of problems) printError(sanitize(problem));
  if (naming.scope !== "topic")
    printError("Several topics have one egress topic: Kafka does not know for which of them it is read.");
  printError(observationLimit);
}

async function* listViews(
  { services }: CommandContext,
  externalIds: readonly string[],
  options: { readonly naming: EgressNaming; readonly observation: Observation },
): AsyncGenerator<TopicConsumersView> {
  const { topicReader } = await services();
  for await (const { topic } of readChosenTopics(topicReader, externalIds))
    yield toConsumersView(topic, { ...options, showsDetails: true });
}

function toRows({ externalId, egressTopic, observed: { groups } }: TopicConsumersView): string[][] {
  const start = [externalId, egressTopic ?? ""].map(sanitize);
  if (groups.length === 0) return [[...start, "none"]];
  return groups.map(({ group, state, memberCount, lag, members }) => {
    const clients = members?.map(({ clientId, host }) => `${clientId} at ${host}`).join(", ") ?? "";
    return [...start, sanitize(group), state, format(memberCount), format(lag), sanitize(clients)];
  });
}

const format = (count: number | null): string => (count === null ? "unknown" : String(count));
