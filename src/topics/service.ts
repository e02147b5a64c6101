import type { TopicBody } from "../../schemas/topic.ts";
import type { PositionStep } from "../sync/positions.ts";
import { getErrorMessage, type Fault } from "../lib/errors.ts";
import { findFilterFaults } from "../matching/filter/topic-filters.ts";
import type { AuditEvent } from "../lib/audit.ts";
import type { Announcement } from "./announcement.ts";
import { toTopicEvent } from "./audit.ts";
import { decide, type Decision } from "./decide.ts";
import { duplicateFaults, insertTopic, mustBeReadable } from "./insertion.ts";
import { UniqueViolationError, TopicGoneError, type TopicStore } from "./stores.ts";
import { toDefinition, type Topic, type TopicDefinition } from "./topic.ts";
import { newId } from "../lib/sys-id.ts";
import type { TopicWrites } from "./snapshot.ts";

/** A stretch of the announcements log, decoded. */
export interface AnnouncementBatch extends PositionStep {
  readonly announcements: readonly Announcement[];
  /** Called with each decision before it is written. */
  readonly decided?: (decision: Decision) => void;
  /** Keeps what was refused, before the position moves. */
  readonly deadLetter: (refusals: Decision["refusals"]) => Promise<void>;
}

/** A topic that was stored, and what the audit says of it. */
export interface CreatedTopic {
  readonly topic: Topic;
  readonly event: AuditEvent;
}

/** The one service that makes topics, for HTTP and for the channel. */
export interface TopicService {
  /**
   * Creates a topic for `user` (specification 4.3). Throws a RefusalError with every fault of the filters, or every
   * duplicate that was found, the external id first, and UnavailableError.
   */
  create(body: TopicBody, user: string): Promise<CreatedTopic>;
  /** What `create` would refuse of a definition that may still lack something; nothing is stored. Throws UnavailableError. */
  check(definition: TopicDefinition): Promise<Fault[]>;
  /**
   * Applies a batch exactly once and in order: load, decide, write together with the position.
   * Gives what was decided. Throws FencedError when another consumer moved the position, and UnavailableError; nothing is stored then.
   */
  apply(batch: AnnouncementBatch): Promise<Decision>;
  /** Reports a decision that was stored although `apply` threw: the answer to its commit was lost. */
  confirm(decision: Decision): void;
}

/** How much is looked up before a batch is decided, from least to most; what is not looked up is taken for absent. */
type LookUp = "retiring" | "ids" | "everything";

const more: Readonly<Record<LookUp, LookUp>> = {
  retiring: "ids",
  ids: "everything",
  everything: "everything",
};

/** A unique index can object again when other changes race with a batch, but not for long. */
const maxAttempts = 10;

export interface TopicServiceOptions {
  readonly now?: () => Date;
  /** Told what was written, once it is stored. */
  readonly changed?: (writes: Partial<TopicWrites>) => void;
}

/** Makes the topic service over a store. */
export function createTopicService(
  store: TopicStore,
  { now = () => new Date(), changed = () => undefined }: TopicServiceOptions = {},
): TopicService {
  /** What was useful for the last batch is likely to be so for the next. */
  let habit: LookUp = "retiring";

  async function load(announcements: readonly Announcement[], lookUp: LookUp): Promise<Topic[]> {
    const definitions = announcements.filter((one) => one.kind === "define").map((one) => one.definition);
    const ids = new Set(announcements.filter((one) => one.kind === "retire").map((one) => one.externalId));
    if (lookUp !== "retiring") for (const { externalId } of definitions) ids.add(externalId);
    const [byId, byCombination] = await Promise.all([
      store.findByExternalIds([...ids]),
      lookUp === "everything" ? store.findByCombinations(definitions) : [],
    ]);
    return [...byId, ...byCombination];
  }

  async function attempt(batch: AnnouncementBatch, lookUp: LookUp): Promise<Decision | "look up more"> {
    const { announcements, key } = batch;
    batch.entered?.("decide");
    const stored = await load(announcements, lookUp);
    const partition = { topic: key.topic, partition: key.partition };
    const decision = decide({ partition, epoch: batch.to.epoch, announcements, stored, now: now(), newId });
    if (
      lookUp === "retiring" &&
      decision.refusals.some(({ refusal }) => refusal.code === "DUPLICATE_COMBINATION")
    ) {
      return "look up more";
    }
    batch.decided?.(decision);
    await store.applyBatch({
      ...batch,
      writes: decision.writes,
      beforeCommit: decision.refusals.length > 0 ? () => batch.deadLetter(decision.refusals) : undefined,
    });
    changed(decision.writes);
    habit = nextHabit(decision, lookUp);
    return decision;
  }

  return {
    async create(body, user) {
      const definition = toDefinition(body);
      mustBeReadable(definition);
      const topic = await insertTopic(store, () => {
        const at = now();
        return { ...definition, id: newId(), source: { kind: "http", user }, createdOn: at, updatedOn: at };
      });
      changed({ created: [topic] });
      return { topic, event: toTopicEvent("created", topic) };
    },

    confirm: ({ writes }) => {
      changed(writes);
    },

    check: async (definition) => [
      ...findFilterFaults(definition),
      ...(await duplicateFaults(store, definition)),
    ],

    async apply(batch) {
      let lookUp = isSimple(batch.announcements) ? habit : "everything";
      let objection: unknown;
      for (let tries = 1; tries <= maxAttempts; tries += 1) {
        try {
          const decision = await attempt(batch, lookUp);
          if (decision !== "look up more") return decision;
        } catch (error) {
          if (!(error instanceof UniqueViolationError || error instanceof TopicGoneError)) throw error;
          objection = error;
        }
        lookUp = more[lookUp];
      }
      throw new Error(
        `the batch at offset ${batch.from?.offset ?? 0} was decided ${maxAttempts} times: ${getErrorMessage(objection)}`,
        { cause: objection },
      );
    },
  };
}

/**
 * Whether a batch may be decided without looking everything up. The unique indexes check only what is written in the
 * end: with two announcements for one external id, a state in between would go unchecked.
 */
function isSimple(announcements: readonly Announcement[]): boolean {
  const seen = new Set<string>();
  for (const announcement of announcements) {
    if (announcement.kind === "unusable") continue;
    const id = announcement.kind === "define" ? announcement.definition.externalId : announcement.externalId;
    if (seen.has(id)) return false;
    seen.add(id);
  }
  return true;
}

function nextHabit({ counts }: Decision, lookUp: LookUp): LookUp {
  const known = counts.unchanged + counts.updated + counts.adopted + counts.refused;
  if (lookUp === "everything" && counts.refused > 0) return "everything";
  return known > 0 ? "ids" : "retiring";
}
