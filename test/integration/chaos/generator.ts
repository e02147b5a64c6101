import type { TopicDefinition } from "../../../src/topics/topic.ts";
import { definitionIn, someEnvelope, tombstoneIn, type Words } from "./envelopes.ts";
import { garbage } from "./garbage.ts";
import type { Random } from "./random.ts";
import { createStory, type Saying, type StoryOptions } from "./story.ts";

/** A record to announce, and the partition that its family has. */
export interface Sent extends Words {
  readonly partition: number;
}

/** A topic that is created over HTTP, and the partition where it may be announced. */
export interface HandMade {
  readonly definition: TopicDefinition;
  readonly partition: number;
}

/** The header that tells people what a record was meant to be. Nothing else looks at it. */
export const moveHeader = "chaos-move";

/** Announcements of every kind, the same for the same random numbers. */
export function createGenerator(random: Random, options: StoryOptions) {
  const story = createStory(random.fork(), options);
  const words = random.fork();

  function record(saying: Saying): Sent {
    const envelope = saying.kind === "garbage" ? "plain" : someEnvelope(words);
    const said = saidIn(envelope, saying);
    const move = saying.kind === "garbage" ? saying.move : `${saying.move}, ${envelope}`;
    return { ...said, partition: saying.partition, headers: { ...said.headers, [moveHeader]: move } };
  }

  function saidIn(envelope: ReturnType<typeof someEnvelope>, saying: Saying): Words {
    switch (saying.kind) {
      case "define":
        return definitionIn(envelope, saying.definition, words);
      case "retire":
        return tombstoneIn(envelope, saying.externalId, words);
      case "garbage":
        return garbage(saying.definition, words);
    }
  }

  return {
    handMade: story.handMade as readonly HandMade[],
    /** The next records: `count` of them, or one or two more, since what belongs together stays together. */
    take(count: number): Sent[] {
      const sent: Sent[] = [];
      while (sent.length < count) sent.push(...story.next().map(record));
      return sent;
    },
  };
}
