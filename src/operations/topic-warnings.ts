import type { FilterWarning } from "../../schemas/topics/check.ts";
import type { EventTypeService } from "../event-types/service.ts";
import type { TopicDefinition } from "../topics/topic.ts";
import { hasRight, mayReadEvents } from "../users/rights.ts";
import type { ReplyHeaders } from "./framework/operation.ts";
import type { Call } from "./framework/operation.ts";

interface WarningServices {
  readonly eventTypes: Pick<EventTypeService, "findWarnings">;
}

interface Checked {
  readonly definition: TopicDefinition;
  readonly maxWaitMs?: number;
}

/**
 * Compares the filters of a definition with the last events, for those who may read all topics; with their
 * values only for those who may read events.
 */
export const findWarnings = async (
  { eventTypes }: WarningServices,
  user: Call["user"],
  { definition, maxWaitMs }: Checked,
): Promise<FilterWarning[]> =>
  hasRight(user, "topics.read")
    ? eventTypes.findWarnings(definition, { showsValues: mayReadEvents(user), maxWaitMs })
    : [];

/** Proxies limit the size of all headers together. */
const maxWarnings = 3;
const maxCharacters = 300;
/** The topic is stored already. */
const maxWaitMs = 1_000;

/**
 * The warnings of `checkTopic` as headers of the response that stores a definition. Never throws: the topic
 * is stored whether or not events can be read.
 */
export async function findWarningHeaders(
  services: WarningServices,
  user: Call["user"],
  definition: TopicDefinition,
): Promise<ReplyHeaders> {
  const warnings = await findWarnings(services, user, { definition, maxWaitMs }).catch(() => []);
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
