import { getErrorMessage } from "../lib/errors.ts";
import { now } from "../lib/platform.ts";
import { withTimeout } from "../lib/timeout.ts";

/** A consumer group with committed offsets in egress topics. */
export interface ConsumerGroup {
  readonly group: string;
  /** The protocol: "consumer" is that of KIP-848. */
  readonly type: string;
  /** "stopped": it has no members. */
  readonly state: "stable" | "rebalancing" | "stopped" | "unknown";
  /** Undefined if they could not be read. */
  readonly members: readonly { readonly clientId: string; readonly host: string }[] | undefined;
  /** The records that it has not read, by egress topic; undefined if unknown. */
  readonly lags: ReadonlyMap<string, number | undefined>;
}

/** What was read about all consumer groups. */
export interface GroupReading {
  readonly groups: readonly ConsumerGroup[];
  /** What could not be read, and the rights that are missing. */
  readonly problems: readonly string[];
}

/** A reading, at most as old as it says. */
export interface Observation {
  /** When the last reading began; undefined before there is one. */
  readonly asOf: Date | undefined;
  readonly isReading: boolean;
  readonly problems: readonly string[];
  getGroups(egressTopic: string): readonly ConsumerGroup[];
}

const maxAgeMs = 60_000;
/** Then the last reading is shown with the reason. */
const timeoutMs = 180_000;

/**
 * Observes consumer groups, when somebody asks: what is older than a minute is read again in the background,
 * and nobody waits for it.
 */
export class ConsumerObserver {
  readonly #read: () => Promise<GroupReading>;
  #asOf: Date | undefined;
  #byTopic: GroupsByTopic = new Map();
  #problems: readonly string[] = [];
  #endedAt = -Infinity;
  #isReading = false;

  constructor(read: () => Promise<GroupReading>) {
    this.#read = read;
  }

  observe(): Observation {
    if (!this.#isReading && now() - this.#endedAt >= maxAgeMs) void this.#renew();
    return toObservation({
      asOf: this.#asOf,
      isReading: this.#isReading,
      problems: this.#problems,
      byTopic: this.#byTopic,
    });
  }

  async #renew(): Promise<void> {
    this.#isReading = true;
    const startedAt = now();
    try {
      const { groups, problems } = await withTimeout(timeoutMs, this.#read());
      this.#byTopic = groupByTopic(groups);
      this.#problems = problems;
      this.#asOf = new Date(startedAt);
    } catch (error) {
      this.#problems = [`the consumer groups: ${getErrorMessage(error)}`];
    } finally {
      this.#isReading = false;
      this.#endedAt = now();
    }
  }
}

type GroupsByTopic = ReadonlyMap<string, readonly ConsumerGroup[]>;

export const toObservation = ({
  byTopic,
  ...rest
}: Omit<Observation, "getGroups"> & { readonly byTopic: GroupsByTopic }): Observation => ({
  ...rest,
  getGroups: (egressTopic) => byTopic.get(egressTopic) ?? [],
});

/** Where nobody observes. */
export const unobserved = toObservation({
  asOf: undefined,
  isReading: false,
  problems: [],
  byTopic: new Map(),
});

/** Lists the groups of each egress topic. */
export function groupByTopic(groups: readonly ConsumerGroup[]): GroupsByTopic {
  const byTopic = new Map<string, ConsumerGroup[]>();
  for (const group of groups)
    for (const topic of group.lags.keys()) {
      const known = byTopic.get(topic);
      if (known === undefined) byTopic.set(topic, [group]);
      else known.push(group);
    }
  return byTopic;
}
