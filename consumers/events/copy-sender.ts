import { elapsed } from "@topicsync/lib/platform";
import {
  RecordRejectedError,
  type EgressTopics,
  type RoutingTransaction,
  type RoutingTransactions,
  FencedError,
} from "@topicsync/kafka";
import type { Copy, FoundTopics, RoutePlan, Undelivered } from "../../src/routing/plan.ts";
import type { Step } from "../batch.ts";

/** How long copies for a Kafka topic that rejected one are sent in requests of their own. */
const suspicionMs = 60_000;

/** What a transaction has sent, and what it could not send. */
interface SentCopies {
  readonly transaction: RoutingTransaction;
  readonly forwarded: number;
  readonly undelivered: readonly Undelivered[];
}

/**
 * Sends the copies of a plan in a transaction, which the caller commits. Throws UnavailableError and
 * FencedError.
 */
export type SendCopies = (plan: RoutePlan, found: FoundTopics, step: Step) => Promise<SentCopies>;

/**
 * Creates the sender of one partition of the events topic. It remembers which Kafka topics rejected a copy.
 */
export function createCopySender({
  transactions,
  egressTopics,
}: {
  readonly transactions: RoutingTransactions;
  readonly egressTopics: Pick<EgressTopics, "deny">;
}): SendCopies {
  /** Kafka topics that rejected a record, and until when that counts. */
  const suspects = new Map<string, number>();

  const listSuspects = (): ReadonlySet<string> =>
    new Set([...suspects].filter(([, until]) => until > elapsed()).map(([topic]) => topic));

  /** Sends copies that may be rejected. Returns those that were. */
  async function sendEach(transaction: RoutingTransaction, copies: readonly Copy[]): Promise<Undelivered[]> {
    const results = copies.length === 0 ? [] : await transaction.sendEach(copies);
    return copies.flatMap(({ event, externalId, topic }, at): Undelivered[] => {
      const result = results[at];
      if (result === undefined || !("rejection" in result)) return [];
      const { reason, message } = result.rejection;
      if (reason === "denied") egressTopics.deny(topic, message);
      else suspects.set(topic, elapsed() + suspicionMs);
      return [{ event, externalId, topic, code: "EGRESS_REJECTED", reason: message }];
    });
  }

  return async (plan, found, { from, to }) => {
    const held = listSuspects();
    let transaction = await transactions.begin(to);
    let rest: Iterable<Copy> = held.size === 0 ? [] : plan.copies(found, (topic) => held.has(topic));
    try {
      await transaction.sendAll(plan.copies(found, (topic) => !held.has(topic)));
    } catch (error) {
      if (!(error instanceof RecordRejectedError)) throw error;
      // Kafka's response does not say which record it rejects, and the transaction is lost.
      const claimed = await transactions.claim();
      if (claimed?.offset !== from?.offset) throw new FencedError("another process moved the position");
      transaction = await transactions.begin(to);
      rest = plan.copies(found);
    }
    const rejected = await sendEach(transaction, [...rest]);
    const undelivered = [...plan.listUndelivered(found), ...rejected];
    return { transaction, forwarded: plan.size - undelivered.length, undelivered };
  };
}
