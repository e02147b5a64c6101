/** What a transaction has to do with one event, by the topics that its process could know. */
import { deadLetterHeader } from "../../schemas/dead-letters/record.ts";
import { routedEventHeader } from "../../schemas/routed-event.ts";
import type { StoredRecord, WrittenRecord } from "../simulated-servers/index.ts";
import { choosePartition, findChange, getCodeOfUnusable, getText, parseEvent } from "./router-copies.ts";
import type { Knowledges, RouterTopics } from "./router-topics.ts";
import type { TopicVersion } from "./router-versions.ts";
import { Violation } from "./violation.ts";

/** Why an event cannot be forwarded to a Kafka topic. */
export type Obstacle = "NO_EGRESS_TOPIC" | "EGRESS_REJECTED";

/** What can become of it there. "later": it cannot be sent until the Kafka topic is created. */
export type Prospect = Obstacle | "sent" | "later";

export interface EventCheckOptions {
  readonly topic: string;
  readonly getTime: () => number;
  readonly topics: RouterTopics;
  /** Undefined: events that no topic wants are dropped. */
  readonly unmatchedTopic: string | undefined;
  readonly maxCopies: number;
  readonly getEgressName: (version: TopicVersion) => string;
  /**
   * Whether, at some time from `since` to `until`, the event could be sent, and why it could not. Empty: it
   * can never be.
   */
  readonly findOutcomes: (sent: {
    readonly name: string;
    readonly bytes: number;
    readonly since: number;
    readonly until: number;
  }) => ReadonlySet<Prospect>;
  /** How many partitions a process may have believed a Kafka topic to have. */
  readonly listCounts: (name: string, since: number, until: number) => ReadonlySet<number>;
}

/** A record as a process got it, and what that process knew then. */
export interface Delivered {
  readonly record: StoredRecord;
  readonly at: number;
  readonly known: Knowledges;
}

/** An event by its place in a log. */
export interface EventName {
  readonly id: string;
  readonly partition: number;
  readonly offset: number;
  readonly epoch: number;
}

/** What a transaction does with one event. */
export interface Outcome {
  readonly copies: readonly WrittenRecord[];
  readonly letters: readonly WrittenRecord[];
}

type Fail = (message: string) => never;

/** Checks what became of an event. */
export class EventCheck {
  readonly #options: EventCheckOptions;

  constructor(options: EventCheckOptions) {
    this.#options = options;
  }

  /** Throws a Violation. */
  check(name: EventName, delivery: Delivered, outcome: Outcome): void {
    const { record } = delivery;
    const { copies, letters } = outcome;
    const fail: Fail = (message) => {
      throw new Violation(`${name.id}: ${message}`);
    };
    if (letters.length > 1) fail("has more than one dead letter");
    const [letter] = letters;
    if (parseEvent(record.value) === undefined) {
      if (copies.length > 0) fail("is not an event, and was forwarded");
      if (letter === undefined) return fail("is not an event, and has no dead letter");
      this.#checkLetter(letter, record, { name, reasons: new Set([getCodeOfUnusable(record)]) }, fail);
      return;
    }
    const hasTooMany = this.#hasTooMany(delivery, outcome, fail);
    const named = findUndelivered(letter);
    // Without a list, it is left out of all of its topics.
    if (letter !== undefined && hasTooMany && named === undefined) {
      if (copies.length > 0) fail("was forwarded, but its dead letter does not say so");
      this.#checkLetter(letter, record, { name, reasons: new Set(["TOO_MANY_TOPICS"]) }, fail);
      return;
    }
    for (const copy of copies) this.#checkCopy(copy, delivery, name, fail);
    const findings = this.#options.topics.ids.map((externalId) =>
      this.#checkTopic(externalId, delivery, { copies, letter, named, hasTooMany }, fail),
    );
    if (!hasTooMany && findings.filter(({ must }) => must).length > this.#options.maxCopies)
      fail("belongs to too many topics");
    const unmatchedObstacles = this.#checkUnmatched(
      delivery,
      outcome,
      {
        may: !findings.some(({ mustMatch }) => mustMatch),
        must: !findings.some(({ mayMatch }) => mayMatch),
        isPicked: findings.some(({ isPicked }) => isPicked),
      },
      fail,
    );
    if (letter === undefined) return;
    if (named === undefined && copies.length > 0) fail("was forwarded, but its dead letter does not say so");
    const reasons = new Set([...findings.flatMap(({ obstacles }) => obstacles), ...unmatchedObstacles]);
    this.#checkLetter(letter, record, { name, reasons }, fail);
  }

  #toSent(name: string, { value }: StoredRecord, since: number) {
    return {
      name,
      bytes: value?.length ?? 0,
      since,
      until: this.#options.getTime(),
    };
  }

  #listObstacles(name: string, { record, at }: Delivered): readonly string[] {
    return [...this.#options.findOutcomes(this.#toSent(name, record, at))].filter(
      (outcome) => outcome !== "sent" && outcome !== "later",
    );
  }

  #checkCopy(copy: WrittenRecord, { record, at }: Delivered, { partition }: EventName, fail: Fail): void {
    const change = findChange(copy, record, "copy");
    if (change !== undefined) fail(`lost ${change} on its way to ${copy.topic}`);
    const counts = this.#options.listCounts(copy.topic, at, this.#options.getTime());
    if (![...counts].some((count) => choosePartition(record.key, partition, count) === copy.partition))
      fail(`is in partition ${copy.partition} of ${copy.topic}, which has ${[...counts].join(" or ")}`);
  }

  #checkLetter(
    letter: WrittenRecord,
    record: StoredRecord,
    { name, reasons }: { readonly name: EventName; readonly reasons: ReadonlySet<string> },
    fail: Fail,
  ): void {
    const change = findChange(letter, record, "letter");
    if (change !== undefined) fail(`lost ${change} on its way to the dead letters`);
    const code = getText(letter, deadLetterHeader.code) ?? "";
    if (!reasons.has(code)) fail(`is a dead letter as ${code} instead of ${[...reasons].join(" or ")}`);
    const expected = {
      [deadLetterHeader.topic]: this.#options.topic,
      [deadLetterHeader.partition]: String(name.partition),
      [deadLetterHeader.offset]: String(name.offset),
      [deadLetterHeader.epoch]: String(name.epoch),
      [deadLetterHeader.className]: `topicsync.${code}`,
    };
    for (const [header, text] of Object.entries(expected)) {
      const found = getText(letter, header);
      if (found !== text) fail(`has a dead letter with ${header} ${found} instead of ${text}`);
    }
  }

  /** Whether an event belongs to a topic, by the versions that its process could know. */
  #match(externalId: string, { record, at, known }: Delivered): Match {
    const content = parseEvent(record.value);
    const usable = this.#options.topics.listUsable(externalId, known, this.#options.getTime());
    const matching = usable.filter(
      ({ definition }) => content !== undefined && definition?.filter.matches(content) === true,
    );
    // A topic that no Kafka topic can be named after is skipped.
    const routable = matching.filter(
      (version) =>
        this.#options.findOutcomes(this.#toSent(this.#options.getEgressName(version), record, at)).size > 0,
    );
    return {
      usable,
      matching,
      may: routable.length > 0,
      must: matching.length === usable.length && routable.length === matching.length,
    };
  }

  /** Checks what becomes of an event for one topic. */
  #checkTopic(externalId: string, delivery: Delivered, outcome: TopicOutcome, fail: Fail): Findings {
    const { record, at } = delivery;
    const { copies, letter, named, hasTooMany } = outcome;
    const { usable, matching, must } = this.#match(externalId, delivery);
    const findings = { mayMatch: matching.length > 0, mustMatch: matching.length === usable.length, must };
    const [copy, ...others] = copies.filter((one) => getText(one, routedEventHeader.topic) === externalId);
    if (others.length > 0) fail(`was forwarded to ${externalId} more than once`);
    const isNamed = named?.has(externalId) === true;
    if (copy !== undefined) {
      if (isNamed) fail(`was forwarded to ${externalId}, and its dead letter denies that`);
      if (matching.length === 0) fail(`was forwarded to ${externalId}, which it does not match`);
      if (!usable.map(this.#options.getEgressName).includes(copy.topic))
        fail(`was forwarded to ${externalId} at ${copy.topic}`);
      if (!this.#options.findOutcomes(this.#toSent(copy.topic, record, at)).has("sent"))
        fail(`was forwarded to ${copy.topic}, which does not exist or does not take it`);
      return { ...findings, isPicked: true, obstacles: [] };
    }
    if (isNamed && matching.length === 0)
      fail(`has a dead letter for ${externalId}, which it does not match`);
    const obstacles = matching.flatMap((version) =>
      this.#listObstacles(this.#options.getEgressName(version), delivery),
    );
    // Its namespace may have more than its share.
    if (hasTooMany && isNamed) obstacles.push("TOO_MANY_TOPICS");
    if (must || isNamed) {
      // Without a list, the dead letter is for all of the topics.
      if (letter === undefined || (named !== undefined && !isNamed))
        fail(`was not forwarded to ${externalId}`);
      if (obstacles.length === 0) fail(`has a dead letter for ${externalId} without a reason`);
    }
    return { ...findings, isPicked: isNamed, obstacles };
  }

  /** Whether it is an event that belongs to too many topics, and was treated as one. */
  #hasTooMany(delivery: Delivered, { copies, letters: [letter] }: Outcome, fail: Fail): boolean {
    if (copies.length > this.#options.maxCopies) fail(`was forwarded ${copies.length} times`);
    if (letter === undefined || getText(letter, deadLetterHeader.code) !== "TOO_MANY_TOPICS") return false;
    const possible = this.#options.topics.ids.filter((externalId) => this.#match(externalId, delivery).may);
    if (possible.length <= this.#options.maxCopies) fail("has a dead letter as TOO_MANY_TOPICS");
    return true;
  }

  #checkUnmatched(
    delivery: Delivered,
    { copies, letters: [letter] }: Outcome,
    { may, must, isPicked }: { readonly may: boolean; readonly must: boolean; readonly isPicked: boolean },
    fail: Fail,
  ): readonly string[] {
    const obstacles =
      this.#options.unmatchedTopic === undefined
        ? []
        : this.#listObstacles(this.#options.unmatchedTopic, delivery);
    const [unmatched, ...others] = copies.filter(
      (copy) => getText(copy, routedEventHeader.topic) === undefined,
    );
    if (others.length > 0) fail("is unmatched more than once");
    if (unmatched !== undefined) {
      if (isPicked || !may) fail("was forwarded as unmatched, but matches a topic");
      if (unmatched.topic !== this.#options.unmatchedTopic)
        fail("was forwarded as unmatched, to another Kafka topic");
    } else if (must && this.#options.unmatchedTopic !== undefined) {
      if (letter === undefined || obstacles.length === 0) fail("was not forwarded as unmatched");
    } else if (must && letter !== undefined) fail("has a dead letter, but matches no topic");
    return may ? obstacles : [];
  }
}

interface TopicOutcome {
  readonly copies: readonly WrittenRecord[];
  readonly letter: WrittenRecord | undefined;
  /** The topics that the dead letter names; undefined when it is for all of them. */
  readonly named: ReadonlySet<string> | undefined;
  /** Whether topics of some namespaces were left out. */
  readonly hasTooMany: boolean;
}

interface Match {
  readonly usable: readonly TopicVersion[];
  readonly matching: readonly TopicVersion[];
  /** Whether the event may, and must, have a copy or a dead letter for the topic. */
  readonly may: boolean;
  readonly must: boolean;
}

interface Findings {
  readonly must: boolean;
  /** Also if no Kafka topic can be named after it. */
  readonly mayMatch: boolean;
  readonly mustMatch: boolean;
  /** Whether the event was forwarded to it, or has a dead letter that names it. */
  readonly isPicked: boolean;
  readonly obstacles: readonly string[];
}

/** The topics that a dead letter names; undefined when it names none. */
function findUndelivered(letter: WrittenRecord | undefined): ReadonlySet<string> | undefined {
  const text = letter && getText(letter, routedEventHeader.undelivered);
  return text === undefined ? undefined : new Set(JSON.parse(text) as string[]);
}
