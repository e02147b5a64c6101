import { UnavailableError } from "../../lib/errors.ts";
import type { ListedTopic } from "../../topics/topic.ts";
import {
  findUsage,
  selectUnused,
  splitTopics,
  toUsageView,
  type TopicUsageStore,
} from "../../topics/usage.ts";
import type { CommandContext } from "../context.ts";
import { formatCount, formatMinute } from "../output/format.ts";
import { openOutput, printError, sanitize } from "../output/output.ts";
import { createTableWriter } from "../output/table.ts";
import { readChosenTopics } from "./chosen-topics.ts";

export interface UsageFlags {
  /** A number with its unit: `30d`. */
  readonly unusedFor?: string;
  readonly json?: true;
}

const columns = [
  { head: "external id" },
  { head: "namespace", width: 18 },
  { head: "last event", width: 18 },
  { head: "events" },
];

/** Prints how many events topics had, all active ones by default. */
export async function showUsage(
  { services, abort }: CommandContext,
  externalIds: readonly string[],
  { unusedFor, json }: UsageFlags,
): Promise<void> {
  const { topicReader, topicUsage } = await services();
  const unused = unusedFor === undefined ? undefined : await selectUnused(topicUsage, unusedFor);
  const counting = await topicUsage.findCounting();
  const output = openOutput();
  const table = json ? undefined : await createTableWriter(output, columns);
  let count = 0;
  for await (const topics of splitTopics(readChosenTopics(topicReader, externalIds))) {
    if (abort.aborted) throw new UnavailableError(`stopped after ${formatCount(count, "topic")}`);
    const shown = unused === undefined ? topics : await unused.select(topics);
    for (const row of await readUsage(topicUsage, shown)) {
      const view = toUsageView(row.externalId, row.usage, counting);
      const isOpen =
        table === undefined
          ? await output.write(`${JSON.stringify(view)}\n`)
          : await table.add(toRow(view, row.namespace));
      if (!isOpen) return;
      count += 1;
    }
  }
  if (table === undefined) return;
  if (count > 0) await table.end();
  await output.write(`${formatCount(count, unused === undefined ? "topic" : "unused topic")}\n`);
  if (counting === undefined)
    printError("No counts are stored yet: a router stores them within ten minutes.");
  else
    printError(
      `Events were counted from ${formatMinute(counting.since)} until ${formatMinute(counting.until)}.`,
    );
  if (unused?.isKnown === false) printError("That is too short to call a topic unused.");
}

async function readUsage(store: TopicUsageStore, topics: readonly ListedTopic[]) {
  const found = await findUsage(
    store,
    topics.map(({ topic }) => topic),
  );
  return topics.map(({ topic: { externalId, namespace } }) => ({
    ...{ externalId, namespace },
    usage: found.get(externalId),
  }));
}

function toRow({ externalId, lastEventOn, events }: ReturnType<typeof toUsageView>, namespace: string) {
  const last = lastEventOn === null ? "none" : formatMinute(new Date(lastEventOn));
  return [sanitize(externalId), sanitize(namespace), last, String(events)];
}
