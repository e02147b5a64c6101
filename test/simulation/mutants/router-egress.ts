import type { Mutant } from "./mutant.ts";

const plan = "src/routing/plan.ts";
const egressTopics = "packages/kafka/admin/egress-topics.ts";

export const routerEgressMutants: readonly Mutant[] = [
  {
    name: "Kafka topics are named when events are sent",
    world: "router",
    file: plan,
    replace: "    this.#known.set(externalId, found);\n",
    by: "",
  },
  {
    name: "the limit of copies is ignored",
    world: "router",
    file: plan,
    replace: "if (length > maxCopies)",
    by: "if (length > maxCopies * 1_000)",
  },
  {
    name: "names that no Kafka topic can have are looked up",
    world: "router",
    file: plan,
    replace: "naming.findFault(topic) === undefined ? naming.getName(topic) : undefined;",
    by: "naming.getName(topic);",
  },
  {
    name: "copies are spread without a look at their key",
    world: "router",
    file: plan,
    replace: "(key === null ? partition % partitions : choosePartition(key, partitions))",
    by: "partition % partitions",
  },
  {
    name: "copies lose the headers of their event",
    world: "router",
    file: plan,
    replace: "headers: withHeaders(headers, added)",
    by: "headers: added",
  },
  {
    name: "a dead letter does not name the topics that it is for",
    world: "router",
    file: "src/routing/rejections.ts",
    replace: "single.length < event.topics.length",
    by: "single.length < 0",
  },
  {
    name: "a Kafka topic that cannot be created at the moment counts as one that never can",
    world: "router",
    file: egressTopics,
    replace: "if (!isFinal) throw",
    by: "if (reason === undefined) throw",
  },
  {
    name: "one look-up that does not find a Kafka topic is enough",
    world: "router",
    file: egressTopics,
    replace: "if (unknown.every((name) => this.#missing.has(name))) return unknown;",
    by: "return unknown;",
  },
  {
    name: "a Kafka topic that was created is not looked up",
    world: "router",
    file: egressTopics,
    replace: "return this.#lookUpTwice(names.filter((name) => this.#findRefusal(name) === undefined));",
    by: "return names;",
  },
  {
    name: "Kafka topics that were created are not counted",
    world: "router",
    file: egressTopics,
    replace: "      this.#createdCount += created.length;\n",
    by: "",
  },
  {
    name: "a Kafka topic that the router may not create pauses it",
    world: "router",
    file: "packages/kafka/admin/topic-creation.ts",
    replace: '  "TOPIC_AUTHORIZATION_FAILED",\n',
    by: "",
  },
  {
    name: "a Kafka topic that the router may not see pauses it",
    world: "router",
    file: egressTopics,
    replace: "  errorCodes.topicAuthorizationFailed,\n",
    by: "",
  },
  {
    name: "Kafka topics are not counted if the response to their creation is lost",
    world: "router",
    file: "packages/kafka/admin/topic-creation.ts",
    replace: "mayHaveCreated && error === errorCodes.topicAlreadyExists ? 0 : error",
    by: "error",
    schedule: "egress topic created with a lost response",
  },
  {
    name: "partitions without a leader are not counted",
    world: "router",
    file: egressTopics,
    replace: "{ partitions: partitions.length, readAt }",
    by: "{ partitions: partitions.filter(({ leader }) => leader >= 0).length, readAt }",
    schedule: "egress partition that loses its leader",
  },
];
