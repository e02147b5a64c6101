import type { AuditEvent } from "@topicsync/lib/audit/audit";
import type { Fault } from "@topicsync/lib/errors";
import { currentDate } from "@topicsync/lib/platform";
import { newId } from "@topicsync/lib/sys-id";
import { findFilterFaults } from "@topicsync/filters";
import type { TopicBody } from "../../schemas/topics/topic.ts";
import type { Announcement } from "./announcement.ts";
import { toTopicEvent } from "./audit.ts";
import { changeStoredTopics, type ChangedTopics, type ChangeOptions } from "./changing.ts";
import type { DefinitionChange } from "./definition-change.ts";
import { decide, type Batch, type Decision } from "./decide.ts";
import { findDuplicates, insertTopic, requireReadableFilters } from "./insertion.ts";
import type { TopicWrites } from "./snapshot.ts";
import type { TopicTable } from "./stores.ts";
import { isSameDefinition, toDefinition, type Topic, type TopicDefinition } from "./topic.ts";

/** A topic that was stored, and its audit event. */
interface CreatedTopic {
  readonly topic: Topic;
  readonly event: AuditEvent;
}

/** Creates and changes topics, for HTTP, the command line and the announcements. */
export interface TopicService {
  /**
   * Creates a topic for `user` (specification 4.3). Throws UnavailableError, and a RejectionError with every
   * fault of the filters, or with every duplicate, the external id first.
   */
  create(body: TopicBody, user: string): Promise<CreatedTopic>;
  /**
   * The faults for which `create` would reject a definition, which may be incomplete. Throws
   * UnavailableError.
   */
  check(definition: TopicDefinition): Promise<Fault[]>;
  /**
   * Makes up to 500 changes at once, all or none (see DefinitionChange). Changes that are stored already
   * count as unchanged. Throws UnavailableError, and ChangesRejectedError with every change that cannot be
   * made.
   */
  change(changes: readonly DefinitionChange[], options: ChangeOptions): Promise<ChangedTopics>;
  /**
   * Decides what a batch of announcements changes; nothing is stored. `conflicts` is how often a decision on
   * this batch conflicted with stored topics: more is looked up each time. Throws UnavailableError.
   */
  decide(batch: Pick<Batch, "partition" | "epoch" | "announcements">, conflicts: number): Promise<Decision>;
  /**
   * Decides a batch that needs no stored topics, as long as most announcements are new; undefined for others.
   * May be called before the previous batch is stored.
   */
  decideAhead(batch: Pick<Batch, "partition" | "epoch" | "announcements">): Decision | undefined;
}

/**
 * How much is looked up before a batch is decided. The rest counts as absent; where that is wrong, a unique
 * index rejects the write. `tombstones`: the topics to retire, which no index guards; `ids`: every topic of
 * the batch; unchanged topics are only reported as unchanged; `all`: every topic of the batch, and the
 * holders of their combinations.
 */
const lookupLevels = ["tombstones", "ids", "all"] as const;
type LookupLevel = (typeof lookupLevels)[number];

export interface TopicServiceOptions {
  readonly now?: () => Date;
  /** Called with what was created, disabled or enabled, once it is stored. Awaited. */
  readonly changed?: (writes: Partial<TopicWrites>) => void | Promise<void>;
}

export function createTopicService(
  store: TopicTable,
  { now = currentDate, changed = () => undefined }: TopicServiceOptions = {},
): TopicService {
  /** The level that was enough for the last batch is likely to be enough for the next. */
  let usualLevel: LookupLevel = "tombstones";

  return {
    async create(body, user) {
      const definition = toDefinition(body);
      requireReadableFilters(definition);
      const topic = await insertTopic(store, () => {
        const at = now();
        return {
          ...{ ...definition, id: newId(), version: 1, source: { kind: "http", user } },
          createdOn: at,
          updatedOn: at,
        };
      });
      await changed({ created: [topic] });
      return { topic, event: toTopicEvent("created", topic) };
    },

    check: async (definition) => [
      ...findFilterFaults(definition),
      ...(await findDuplicates(store, definition)),
    ],

    change: (changes, options) => changeStoredTopics({ store, now, changed }, changes, options),

    async decide(batch, conflicts) {
      const { announcements } = batch;
      const decideAt = async (level: LookupLevel): Promise<Decision> =>
        decide({ ...batch, ...(await load(store, announcements, level)), now: now(), newId });

      let level = raiseLevel(hasRepeatedIds(announcements) ? "all" : usualLevel, conflicts);
      let decision = await decideAt(level);
      // Two definitions of one combination: the first may be rejected for its id, which was not looked up.
      if (level === "tombstones" && hasDuplicateCombination(decision)) {
        level = "ids";
        decision = await decideAt(level);
      }
      usualLevel = toUsualLevel(decision, level);
      return decision;
    },

    decideAhead(batch) {
      if (usualLevel !== "tombstones" || batch.announcements.some(({ kind }) => kind === "retire"))
        return undefined;
      // The usual level stays: the outcome of the previous batch is not known yet.
      const decision = decide({ ...batch, stored: [], now: now(), newId });
      // Without stored topics, only a repeated id changes a topic, or leaves it unchanged.
      const { unchanged, updated } = decision.counts;
      return unchanged + updated > 0 || hasDuplicateCombination(decision) ? undefined : decision;
    },
  };
}

/** Looks up what a level says. */
async function load(
  store: TopicTable,
  announcements: readonly Announcement[],
  level: LookupLevel,
): Promise<Pick<Batch, "stored" | "unchanged">> {
  const definitions = announcements.filter((one) => one.kind === "define").map((one) => one.definition);
  const tombstones = announcements.filter((one) => one.kind === "retire").map((one) => one.externalId);
  if (level === "tombstones") return { stored: await store.findByExternalIds(tombstones) };
  if (level === "ids") {
    const { unchanged, changed } = await compareStored(store, definitions);
    return { stored: await store.findByExternalIds([...tombstones, ...changed]), unchanged };
  }
  const ids = new Set([...tombstones, ...definitions.map(({ externalId }) => externalId)]);
  const stored = await Promise.all([
    store.findByExternalIds([...ids]),
    store.findByCombinations(definitions),
  ]);
  return { stored: stored.flat() };
}

/** Splits the stored topics by whether they have their announced definition. Returns their external ids. */
async function compareStored(store: TopicTable, definitions: readonly TopicDefinition[]) {
  const announced = new Map(definitions.map((definition) => [definition.externalId, definition]));
  const unchanged = new Set<string>();
  const changed: string[] = [];
  for (const stored of await store.findDefinitions([...announced.keys()])) {
    const definition = announced.get(stored.externalId);
    const isUnchanged =
      definition !== undefined &&
      stored.sourceKind === "announcement" &&
      isSameDefinition(definition, stored);
    if (isUnchanged) unchanged.add(stored.externalId);
    else changed.push(stored.externalId);
  }
  return { unchanged, changed };
}

const raiseLevel = (level: LookupLevel, steps: number): LookupLevel =>
  lookupLevels[lookupLevels.indexOf(level) + steps] ?? "all";

/**
 * Whether two announcements have one external id. Then everything is looked up: the unique indexes check only
 * the net effect of a batch, and an intermediate state would go unchecked.
 */
function hasRepeatedIds(announcements: readonly Announcement[]): boolean {
  const seen = new Set<string>();
  for (const announcement of announcements) {
    if (announcement.kind === "unusable") continue;
    const id = announcement.kind === "define" ? announcement.definition.externalId : announcement.externalId;
    if (seen.has(id)) return true;
    seen.add(id);
  }
  return false;
}

const hasDuplicateCombination = ({ rejections }: Decision): boolean =>
  rejections.some(({ rejection }) => rejection.code === "DUPLICATE_COMBINATION");

function toUsualLevel({ counts }: Decision, level: LookupLevel): LookupLevel {
  const known = counts.unchanged + counts.updated + counts.adopted + counts.rejected;
  if (level === "all" && counts.rejected > 0) return "all";
  return known > 0 ? "ids" : "tombstones";
}
