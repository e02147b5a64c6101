import type { TopicView } from "../../../../schemas/topics/view.ts";
import { describeSource } from "./source.ts";

/**
 * How the definition of a topic was changed after its set was applied; undefined if it was not, or if the
 * definition belongs to the channel.
 */
export function findDrift({ version, source, details }: TopicView): string | undefined {
  const applied = details?.applied ?? undefined;
  if (applied === undefined || applied.version === version || source.kind === "announcement")
    return undefined;
  return `changed ${describeSource(source)}: version ${version}, and version ${applied.version} was applied`;
}
