import type { EventTypeService } from "../../src/event-types/stores.ts";
import type { TopicDefinition } from "../../src/topics/topic.ts";
import { hasRight } from "../../src/users/rights.ts";
import type { ReplyHeaders } from "../framework/headers.ts";
import type { Call } from "../framework/operation.ts";

/** Proxies limit the size of all headers together. */
const maxWarnings = 3;
const maxCharacters = 300;

/**
 * The warnings of `checkTopic` as headers of the response that stores a definition. Never throws: the topic
 * is stored whether or not they can be read.
 */
export async function findWarningHeaders(
  eventTypes: Pick<EventTypeService, "findWarnings">,
  user: Call["user"],
  definition: TopicDefinition,
): Promise<ReplyHeaders> {
  if (!hasRight(user, "topics.read")) return {};
  const warnings = await eventTypes.findWarnings(definition).catch(() => []);
  if (warnings.length === 0) return {};
  return {
    "Topicsync-Warning": warnings
      .slice(0, maxWarnings)
      .map(({ code, filter, message }) => toHeaderText(`${code} ${filter}: ${message}`)),
  };
}

/** Header values have printable ASCII only (RFC 9110, section 5.5). */
const toHeaderText = (text: string): string =>
  text
    .slice(0, maxCharacters)
    .replaceAll(/[^ -~]/gu, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
