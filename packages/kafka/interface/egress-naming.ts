/** The members of a topic that its Kafka topic is named after. */
export interface NamedTopic {
  readonly externalId: string;
  readonly namespace: string;
}

/** Names the Kafka topic that a topic's events are forwarded to: its *egress topic*. */
export interface EgressNaming {
  readonly getName: (topic: NamedTopic) => string;
  /** Why no events of a topic can be forwarded to the Kafka topic of its name; undefined if they can. */
  readonly findFault: (topic: NamedTopic) => string | undefined;
  /** Whether a Kafka topic may be the one of a topic. */
  readonly matches: (name: string) => boolean;
  /** Undefined when names depend on the topic. */
  readonly fixedName: string | undefined;
}

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
  const egressFault = naming.findFault(topic);
  return { egressTopic, ...(egressFault === undefined ? {} : { egressFault }) };
}

const placeholder = /\{(externalId|namespace)\}/g;
/** Kafka's own rule for topic names. */
const legalName = /^[A-Za-z0-9._-]{1,249}$/;

/**
 * Creates the naming.
 *
 * Invariant: with `{namespace}`, topics of different namespaces never share a Kafka topic: the namespace can
 * be told from the name.
 *
 * @param template - The name, in which `{externalId}` and `{namespace}` stand for those of the topic.
 * @param ownTopics - The Kafka topics that the service itself uses.
 */
export function createEgressNaming(template: string, ownTopics: ReadonlySet<string>): EgressNaming {
  const isFixed = !template.includes("{");
  const pattern = new RegExp(`^${template.replaceAll(".", String.raw`\.`).replaceAll(placeholder, ".*")}$`);

  const readNamespace = createNamespaceReader(template);
  const getName = (topic: NamedTopic): string =>
    isFixed ? template : template.replaceAll(placeholder, (_, member: keyof NamedTopic) => topic[member]);

  function findNameFault(name: string): string | undefined {
    if (!legalName.test(name) || name === "." || name === "..")
      return `"${name}" is not a valid Kafka topic name: it must have 1 to 249 letters, digits, dots, underscores and hyphens`;
    if (name.startsWith("__")) return `"${name}" is reserved for Kafka's own topics`;
    // kafkajs keeps the state of Kafka topics as members of a plain object, which inherits these.
    if (name in Object.prototype) return `"${name}" is a name that the Kafka client cannot use`;
    // Forwarding to the events topic would create a loop.
    if (ownTopics.has(name)) return `"${name}" is a Kafka topic that topicsync itself uses`;
    return undefined;
  }

  function findFault(topic: NamedTopic): string | undefined {
    const name = getName(topic);
    const fault = findNameFault(name);
    if (fault !== undefined || readNamespace === undefined || readNamespace(name) === topic.namespace)
      return fault;
    return `"${name}" may be the name for another namespace: the external id must not have what separates the two in KAFKA_EGRESS_TOPIC`;
  }

  return {
    getName,
    findFault,
    matches: (name) => pattern.test(name) && findNameFault(name) === undefined,
    fixedName: isFixed ? template : undefined,
  };
}

/**
 * Finds the namespace that a name stands for: of several, the one with which the external id does not contain
 * what separates the two. Undefined if a template does not have both.
 */
function createNamespaceReader(template: string): ((name: string) => string | undefined) | undefined {
  if (!template.includes("{namespace}") || !template.includes("{externalId}")) return undefined;
  const isFirst = template.indexOf("{namespace}") < template.indexOf("{externalId}");
  const groups = { namespace: "(?<namespace>.*)", externalId: `(?<externalId>.+${isFirst ? "" : "?"})` };
  const seen = new Set<string>();
  const source = template
    .replaceAll(".", String.raw`\.`)
    .replaceAll(placeholder, (_, member: keyof NamedTopic) => {
      const group = seen.has(member) ? String.raw`\k<${member}>` : groups[member];
      seen.add(member);
      return group;
    });
  // Names have at most 249 characters.
  const pattern = new RegExp(`^${source}$`);
  return (name) => pattern.exec(name)?.groups?.["namespace"];
}
