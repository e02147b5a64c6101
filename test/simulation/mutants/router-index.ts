import type { Mutant } from "./mutant.ts";

const index = "src/topics/live/live-topic-index.ts";
const rereads = "src/topics/live/reread-queue.ts";
const streams = "src/storage/topics/streams.ts";
const poll = "src/storage/topics/poll.ts";

/** Of how the router follows the topics. */
export const routerIndexMutants: readonly Mutant[] = [
  {
    name: "the index is used while it is being reloaded",
    world: "router",
    file: index,
    replace: 'if (this.#state.mode !== "live") return undefined;',
    by: 'if (this.#state.mode !== "live") return this.#getServing()?.pick(event);',
  },
  {
    name: "every change of a topic is taken for the echo of an own write",
    world: "router",
    file: "src/topics/live/own-writes.ts",
    replace: "if (updatedOn === undefined || this.#updatedOn.get(externalId) !== updatedOn) return false;",
    by: "if (updatedOn !== undefined) return true;",
  },
  {
    name: "a retirement counts as known while its topic exists",
    world: "router",
    file: poll,
    replace: "found.filter(({ change }) => !remaining.has(change))",
    by: "found",
  },
  {
    name: "a replaced topic is not read again",
    world: "router",
    file: streams,
    replace: '["insert", "replace", "update"]',
    by: '["insert"]',
  },
  {
    name: "a retired topic is not read again",
    world: "router",
    file: streams,
    replace: "[collections.topics, collections.retiredTopics].map((name)",
    by: "[collections.topics].map((name)",
  },
  {
    name: "a load ends before changed topics are read again",
    world: "router",
    file: index,
    replace: "    await Promise.race([this.#rereads.catchUp(), lost]);\n",
    by: "",
    schedule: "topic read slowly at the end of a load",
  },
  {
    name: "a load takes what has changed since it began",
    world: "router",
    file: index,
    replace: "if (!applied.has(topic.externalId) || this.#rereads.has(topic.externalId)) index.set(topic);",
    by: "index.set(topic);",
    schedule: "topic changed during a slow load",
  },
  {
    name: "a topic that cannot be read is forgotten",
    world: "router",
    file: rereads,
    replace: "        this.restart();\n",
    by: "        this.#reading.clear();\n",
    schedule: "topic that cannot be read again",
  },
  {
    name: "a look-up from before the feed was followed counts as read",
    world: "router",
    file: index,
    replace: "        this.#rereads.restart();\n",
    by: "",
    schedule: "look up that ends while topics are loaded again",
  },
  {
    name: "a late own write is not read again",
    world: "router",
    file: index,
    replace: "apply(externalId, topic, updatedOn);",
    by: "apply(externalId, topic);",
    schedule: "own write reported late",
  },
  {
    name: "a late own removal is not read again",
    world: "router",
    file: index,
    replace: "apply(topic.externalId, undefined, retiredOn);",
    by: "apply(topic.externalId, undefined);",
    schedule: "own removal reported late",
  },
  {
    name: "a changed topic is read only once",
    world: "router",
    file: index,
    replace: "      this.#rereads.add(ids);\n    }, secondReadDelayMs)",
    by: "    }, secondReadDelayMs)",
    schedule: "own write reported after a newer one was read",
  },
  {
    name: "an election does not end the feed",
    world: "router",
    file: streams,
    replace: "      this.#end(electionError);\n",
    by: "",
    schedule: "topic read before an election loses it",
  },
  {
    name: "the former external id of a renamed topic is not polled",
    world: "router",
    file: poll,
    replace: "[{ externalId, updatedOn }, ...toRenames(topic)]",
    by: "[{ externalId, updatedOn }]",
    schedule: "topic renamed before an event",
  },
  {
    name: "the former external id of a topic that was removed is not polled",
    world: "router",
    file: poll,
    replace: "[{ externalId, updatedOn: undefined }, ...toRenames(topic)]",
    by: "[{ externalId, updatedOn: undefined }]",
    schedule: "topic renamed and removed between two polls",
  },
  {
    name: "a change stream does not report the former external id of a renamed topic",
    world: "router",
    file: streams,
    replace: "[{ externalId, updatedOn: updatedOn.getTime() }, ...toRenames(record)]",
    by: "[{ externalId, updatedOn: updatedOn.getTime() }]",
    schedule: "topic renamed before an event",
  },
];
