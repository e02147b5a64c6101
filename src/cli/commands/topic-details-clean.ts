import { UnavailableError } from "../../lib/errors.ts";
import { currentDate } from "../../lib/platform.ts";
import type { StoredDetails } from "../../topics/details.ts";
import type { TopicOrder, TopicReader } from "../../topics/listing.ts";
import type { CommandContext } from "../context.ts";
import type { JsonFlag } from "../input/options.ts";
import { formatCount, formatMinute } from "../output/format.ts";
import { openOutput, printError, sanitize } from "../output/output.ts";
import { createTableWriter } from "../output/table.ts";

export interface CleanFlags extends JsonFlag {
  readonly remove?: true;
}

const detailsPerBatch = 500;
const columns = [
  { head: "external id" },
  { head: "owner", width: 24 },
  { head: "set", width: 18 },
  { head: "changed", width: 18 },
];

/** Lists the details of topics that no longer exist, and removes them if the flags say so. */
export async function cleanDetails(
  { services, audit, abort }: CommandContext,
  { json, remove }: CleanFlags,
): Promise<void> {
  const record = remove ? audit() : undefined;
  const { topicDetails, topicReader } = await services();
  const output = openOutput();
  const table = json ? undefined : await createTableWriter(output, columns);
  let count = 0;
  const batches = topicDetails.search({ namespaces: "all" })({
    after: undefined,
    batchSize: detailsPerBatch,
  });
  for await (const batch of batches) {
    if (abort.aborted) throw new UnavailableError(`stopped after ${formatCount(count, "topic")}`);
    for (const details of await keepGone(topicReader, batch)) {
      if (record !== undefined) {
        // Details that were changed since they were read are kept.
        const removed = { details, topicId: undefined, endedOn: currentDate() };
        if (!(await topicDetails.remove(removed))) continue;
        record({ action: "topic.details-removed", externalId: details.externalId });
      }
      count += 1;
      const isOpen = await (table === undefined
        ? output.write(`${JSON.stringify(toLine(details))}\n`)
        : table.add(toRow(details)));
      if (!isOpen && record === undefined) return;
    }
  }
  if (table === undefined) return;
  if (count > 0) await table.end();
  const what = `the details of ${formatCount(count, "topic")} that no longer exist${count === 1 ? "s" : ""}`;
  if (record !== undefined) await output.write(`Removed ${what}.\n`);
  else if (count === 0) await output.write("All details are those of existing topics.\n");
  else printError(`These are ${what}; use --remove to remove them.`);
}

/** Drops the details of topics that are active, or disabled and may be enabled again. */
async function keepGone(
  topicReader: TopicReader,
  batch: readonly StoredDetails[],
): Promise<readonly StoredDetails[]> {
  const externalIds = batch.map(({ externalId }) => externalId);
  const find = (state: "active" | "disabled", sort: TopicOrder["sort"]) =>
    topicReader.readSorted(
      { state, externalIds, namespaces: "all" },
      { order: { sort, descending: false }, after: undefined, limit: externalIds.length },
    );
  // Disabled ones first: a topic that is enabled in between is then found among the active ones.
  const disabled = await find("disabled", "retired");
  const active = await find("active", "externalId");
  const existing = new Set([...disabled, ...active].map(({ topic }) => topic.externalId));
  return batch.filter(({ externalId }) => !existing.has(externalId));
}

const toLine = ({ externalId, owner, membership, changedOn }: StoredDetails) => ({
  externalId,
  owner,
  set: membership?.set ?? null,
  changedOn: changedOn.toISOString(),
});

const toRow = ({ externalId, owner, membership, changedOn }: StoredDetails): string[] => [
  sanitize(externalId),
  sanitize(owner),
  sanitize(membership?.set ?? ""),
  formatMinute(changedOn),
];
