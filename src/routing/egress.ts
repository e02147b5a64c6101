/** The members of a topic that its Kafka topic is named after. */
export interface NamedTopic {
  readonly externalId: string;
  readonly namespace: string;
}

/** Names the Kafka topic that a topic's events are forwarded to: its *egress topic*. */
export interface EgressNaming {
  readonly getName: (topic: NamedTopic) => string;
  /** Why no events can be forwarded to a Kafka topic of this name; undefined if they can. */
  readonly findFault: (name: string) => string | undefined;
  /** Whether a Kafka topic may be the one of a topic. */
  readonly matches: (name: string) => boolean;
  /** Undefined when names depend on the topic. */
  readonly fixedName: string | undefined;
  /** Which topics have the same Kafka topic. */
  readonly scope: EgressScope;
}

/** `topic`: each has its own. `namespace`: those of a namespace share one. `all`: all share one. */
export type EgressScope = "topic" | "namespace" | "all";

/** Where the events of a topic go, as members of its JSON. */
interface EgressView {
  egressTopic?: string;
  /** Why no events can be forwarded there. */
  egressFault?: string;
}

/** Empty when no router is configured. */
export function toEgressView(naming: EgressNaming | undefined, topic: NamedTopic): EgressView {
  if (naming === undefined) return {};
  const egressTopic = naming.getName(topic);
  const egressFault = naming.findFault(egressTopic);
  return { egressTopic, ...(egressFault === undefined ? {} : { egressFault }) };
}

const placeholder = /\{(externalId|namespace)\}/g;
/** Kafka's own rule for topic names. */
const legalName = /^[A-Za-z0-9._-]{1,249}$/;

/**
 * Creates the naming.
 *
 * @param template - The name, in which `{externalId}` and `{namespace}` stand for those of the topic.
 * @param ownTopics - The Kafka topics that the service itself uses.
 */
export function createEgressNaming(template: string, ownTopics: ReadonlySet<string>): EgressNaming {
  const isFixed = !template.includes("{");
  const pattern = new RegExp(`^${template.replaceAll(".", String.raw`\.`).replaceAll(placeholder, ".*")}$`);

  function findFault(name: string): string | undefined {
    if (!legalName.test(name) || name === "." || name === "..")
      return `"${name}" is not a valid Kafka topic name: it must have 1 to 249 letters, digits, dots, underscores and hyphens`;
    if (name.startsWith("__")) return `"${name}" is reserved for Kafka's own topics`;
    // kafkajs keeps the state of Kafka topics as members of a plain object, which inherits these.
    if (name in Object.prototype) return `"${name}" is a name that the Kafka client cannot use`;
    // Forwarding to the events topic would create a loop.
    if (ownTopics.has(name)) return `"${name}" is a Kafka topic that topicsync itself uses`;
    return undefined;
  }

  return {
    getName: (topic) =>
      isFixed ? template : template.replaceAll(placeholder, (_, member: keyof NamedTopic) => topic[member]),
    findFault,
    matches: (name) => pattern.test(name) && findFault(name) === undefined,
    fixedName: isFixed ? template : undefined,
    scope: isFixed ? "all" : template.includes("{externalId}") ? "topic" : "namespace",
  };
}
