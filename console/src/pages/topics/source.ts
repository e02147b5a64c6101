import type { SourceView, TopicView } from "../../../../schemas/topic-view.ts";

/** Where something came from, in a few words. */
export const briefSource = (source: SourceView): string =>
  source.kind === "announcement" ? `announced, ${source.partition}-${source.offset}` : userWords(source.user);

/** Where something came from. */
export const sourceWords = (source: SourceView): string =>
  source.kind === "announcement"
    ? `announced in ${source.topic}, partition ${source.partition}, offset ${source.offset}`
    : `by ${userWords(source.user)}`;

const userWords = (user: string): string =>
  user.startsWith("cli:") ? `${user.slice("cli:".length)}, on the command line` : user;

/** A URL holds no more than 2,048 characters. */
const maxInAddress = 1_500;

/** What stands for a topic in an address: its external id, but for one that is too long or means something else there. */
export function getTopicPath({ externalId, id }: Pick<TopicView, "externalId" | "id">): string {
  const encoded = encodeURIComponent(externalId);
  return encoded.length > maxInAddress || /^\.{1,2}$/.test(externalId) ? id : encoded;
}
