import type { TopicDefinition } from "../../../src/topics/topic.ts";
import { encodeDefinition, pickEnvelope, encodeTombstone, type EncodedRecord } from "./envelopes.ts";
import { createGarbageGenerator } from "./garbage.ts";
import type { Random } from "../../support/random.ts";
import { createScenario, type Step, type ScenarioOptions } from "./scenario.ts";

export interface GeneratedRecord extends EncodedRecord {
  readonly partition: number;
}

/** A topic to create over HTTP, and the partition of its announcements. */
export interface HttpTopic {
  readonly definition: TopicDefinition;
  readonly partition: number;
}

/** Names the move that a record belongs to, for error messages. */
export const moveHeader = "chaos-move";

/** Generates announcements of every kind, reproducibly. */
export function createGenerator(random: Random, options: ScenarioOptions) {
  const scenario = createScenario(random.fork(), options);
  const encoding = random.fork();
  const createGarbage = createGarbageGenerator(encoding);

  function toRecord(step: Step): GeneratedRecord {
    const envelope = step.kind === "garbage" ? "plain" : pickEnvelope(encoding);
    const encoded = encodeStep(envelope, step);
    const move = step.kind === "garbage" ? step.move : `${step.move}, ${envelope}`;
    return { ...encoded, partition: step.partition, headers: { ...encoded.headers, [moveHeader]: move } };
  }

  function encodeStep(envelope: ReturnType<typeof pickEnvelope>, step: Step): EncodedRecord {
    switch (step.kind) {
      case "define":
        return encodeDefinition(envelope, step.definition, encoding);
      case "retire":
        return encodeTombstone(envelope, step.externalId, encoding);
      case "garbage":
        return createGarbage(step.definition);
    }
  }

  return {
    httpTopics: scenario.httpTopics as readonly HttpTopic[],
    /** Returns `count` records, or one or two more, because a step is not split. */
    take(count: number): GeneratedRecord[] {
      const sent: GeneratedRecord[] = [];
      while (sent.length < count) sent.push(...scenario.next().map(toRecord));
      return sent;
    },
  };
}
