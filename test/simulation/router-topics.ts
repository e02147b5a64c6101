/** The topics of the router's world, all of their versions, and the feed by which processes follow them. */
import { UnavailableError } from "../../src/lib/errors.ts";
import type { FeedListener, PickableTopic, TopicFeed } from "../../src/matching/feed.ts";
import type { Clock, Host } from "./clock.ts";
import { ConnectionLostError, type Network } from "./network.ts";
import type { Random } from "./random.ts";

/** The members of an event that filters look at. */
export interface EventContent {
  readonly eventType: string;
  readonly level: string;
}

interface Filter {
  readonly headerQuery: string;
  readonly contentQuery: string;
  /** What the two filters say. */
  readonly matches: (event: EventContent) => boolean;
}

const filters: readonly [Filter, ...Filter[]] = [
  { headerQuery: "", contentQuery: "", matches: () => true },
  { headerQuery: "eventType=A", contentQuery: "", matches: ({ eventType }) => eventType === "A" },
  { headerQuery: "", contentQuery: "level=1", matches: ({ level }) => level === "1" },
  {
    headerQuery: "eventType=B",
    contentQuery: "level=0",
    matches: ({ eventType, level }) => eventType === "B" && level === "0",
  },
];

/** A version of a topic. Without a definition, it does not exist. */
export interface TopicVersion {
  readonly number: number;
  readonly storedAt: number;
  readonly definition: { readonly topic: PickableTopic; readonly filter: Filter } | undefined;
}

/** How long a process may take to notice a change: the feed's delay, and the time until a lost feed is noticed. */
export const maxNoticeMs = 1_000;
const maxFeedDelayMs = 600;
const maxLossNoticeMs = 300;
const topicsPerPage = 2;
const namespaces = ["a", "b", "bad name"];

interface Subscription {
  readonly process: Host;
  readonly listener: FeedListener;
  /** `closed`: the process has closed it, or could not open it, and hears nothing of it any more. */
  state: "open" | "lost" | "closed";
  deliversAt: number;
}

/** What a process has learnt about one topic. */
interface Knowledge {
  /** The newest version that it has read. */
  read: number;
  /** The newest version that it was asked to read. */
  noticed: number;
}

export interface RouterTopics {
  readonly ids: readonly string[];
  readonly namespaces: readonly string[];
  /** Stores the next version of a topic; without a variant it is removed. */
  readonly change: (id: number, variant: number | undefined) => void;
  readonly loseFeeds: (process: Host) => void;
  /** A process is frozen until a time, and learns nothing before. */
  readonly noteFreeze: (process: Host, until: number) => void;
  readonly createFeed: (process: Host) => TopicFeed;
  /** The versions from what a process knew until a time, oldest first. */
  readonly listUsable: (id: string, since: Knowledges, until: number) => readonly TopicVersion[];
  /** What a process must know by now of each topic: the number of a version. */
  readonly recordKnowledge: (process: Host) => Knowledges;
}

export type Knowledges = ReadonlyMap<string, number>;

export function createRouterTopics(
  { clock, random, network, host }: { clock: Clock; random: Random; network: Network; host: Host },
  count: number,
): RouterTopics {
  const ids = Array.from({ length: count }, (_, index) => (index === 0 ? "topic 0!" : `topic-${index}`));
  const versions = new Map<string, TopicVersion[]>(
    ids.map((id) => [id, [{ number: 0, storedAt: 0, definition: undefined }]]),
  );
  const knowledge = new Map<Host, Map<string, Knowledge>>();
  const frozenUntil = new Map<Host, number>();
  let subscriptions: Subscription[] = [];

  const getVersions = (id: string): TopicVersion[] => versions.get(id) ?? [];

  function getCurrent(id: string): TopicVersion {
    const current = getVersions(id).at(-1);
    if (current === undefined) throw new Error(`there is no topic ${id}`);
    return current;
  }

  function getKnowledge(process: Host, id: string): Knowledge {
    const ofProcess = knowledge.get(process) ?? new Map<string, Knowledge>();
    knowledge.set(process, ofProcess);
    const known = ofProcess.get(id) ?? { read: 0, noticed: 0 };
    ofProcess.set(id, known);
    return known;
  }

  function noteRead(process: Host, read: readonly TopicVersionOf[]): PickableTopic[] {
    for (const { id, version } of read) {
      const known = getKnowledge(process, id);
      known.read = Math.max(known.read, version.number);
    }
    return read.flatMap(({ version }) =>
      version.definition === undefined ? [] : [version.definition.topic],
    );
  }

  const ask = <T>(execute: () => T): Promise<T> =>
    network.call(host, execute).catch((error: unknown) => {
      throw error instanceof ConnectionLostError ? new UnavailableError("the store does not respond") : error;
    });

  const readAll = (wanted: readonly string[]): TopicVersionOf[] =>
    wanted.filter((id) => versions.has(id)).map((id) => ({ id, version: getCurrent(id) }));

  function deliver(
    subscription: Subscription,
    id: string,
    { number, storedAt, definition }: TopicVersion,
  ): void {
    const { process, listener } = subscription;
    subscription.deliversAt = Math.max(
      subscription.deliversAt,
      clock.getTime() + random.between(1, random.chance(0.8) ? 20 : maxFeedDelayMs),
    );
    clock.schedule(process, subscription.deliversAt - clock.getTime(), () => {
      if (subscription.state !== "open") return;
      const known = getKnowledge(process, id);
      known.noticed = Math.max(known.noticed, number);
      listener.onChanged([{ externalId: id, updatedOn: definition && storedAt }]);
    });
  }

  function change(index: number, variant: number | undefined): void {
    const id = ids[index % count] ?? "";
    const version: TopicVersion = {
      number: getCurrent(id).number + 1,
      storedAt: clock.getTime(),
      definition: variant === undefined ? undefined : define(id, variant),
    };
    getVersions(id).push(version);
    for (const subscription of subscriptions) deliver(subscription, id, version);
  }

  /** Nothing that is still on its way is delivered. */
  function end(subscription: Subscription, state: "lost" | "closed"): void {
    subscription.state = state;
    subscriptions = subscriptions.filter((one) => one !== subscription);
  }

  return {
    ids,
    namespaces,
    change,
    loseFeeds(process) {
      for (const subscription of subscriptions.filter((one) => one.process === process)) {
        end(subscription, "lost");
        clock.schedule(process, random.between(0, maxLossNoticeMs), () => {
          if (subscription.state === "lost")
            subscription.listener.onLost(new UnavailableError("the feed is lost"));
        });
      }
    },
    noteFreeze(process, until) {
      frozenUntil.set(process, Math.max(frozenUntil.get(process) ?? 0, until));
    },
    createFeed: (process) => ({
      async *streamAll() {
        for (let at = 0; at < ids.length; at += topicsPerPage)
          yield noteRead(process, await ask(() => readAll(ids.slice(at, at + topicsPerPage))));
      },
      find: async (wanted) => noteRead(process, await ask(() => readAll(wanted))),
      async follow(listener) {
        const subscription: Subscription = { process, listener, state: "open", deliversAt: 0 };
        await ask(() => {
          // The request may arrive after the process has given it up.
          if (subscription.state === "open") subscriptions.push(subscription);
        }).catch((error: unknown) => {
          end(subscription, "closed");
          throw error;
        });
        return {
          close() {
            end(subscription, "closed");
            return Promise.resolve();
          },
        };
      },
    }),
    recordKnowledge: (process) =>
      new Map(
        ids.map((id) => {
          const { read, noticed } = getKnowledge(process, id);
          // While the store does not respond, a change is known to exist, but not what it is.
          if (noticed > read) return [id, read];
          const since = Math.max(clock.getTime() - maxNoticeMs, 0);
          const wasFrozen = (frozenUntil.get(process) ?? -1) >= since;
          const due = getVersions(id).findLast(({ storedAt }) => storedAt < since)?.number ?? 0;
          return [id, wasFrozen ? read : Math.max(read, due)];
        }),
      ),
    listUsable: (id, since, until) => {
      const first = since.get(id) ?? 0;
      return getVersions(id).filter(({ number, storedAt }) => number >= first && storedAt <= until);
    },
  };
}

interface TopicVersionOf {
  readonly id: string;
  readonly version: TopicVersion;
}

function define(externalId: string, variant: number): NonNullable<TopicVersion["definition"]> {
  const filter = filters[variant % filters.length] ?? filters[0];
  const namespace = namespaces[Math.floor(variant / filters.length) % namespaces.length] ?? "a";
  const { headerQuery, contentQuery } = filter;
  return {
    topic: { id: externalId, externalId, name: externalId, namespace, headerQuery, contentQuery },
    filter,
  };
}
