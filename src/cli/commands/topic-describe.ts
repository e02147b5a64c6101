import { topicDetailsBodySchema, type TopicDetailsBody } from "../../../schemas/topic-details.ts";
import { RejectionError, formatFaults } from "../../lib/errors.ts";
import { createValidator } from "../../lib/validation.ts";
import { requireUnmanaged } from "../../plans/guard.ts";
import { noDetails, toDetails, toDetailsBody } from "../../topics/details.ts";
import { UnknownTopicError } from "../../topics/definition-change.ts";
import { toTopicDetail } from "../../topics/topic-view.ts";
import { getCommandLineUser, type CommandContext } from "../context.ts";
import { printJson, printLine, sanitize } from "../output/output.ts";
import { createUnknownTopicError } from "./topic-changes.ts";
import type { DescribeFlags } from "./topic-describe-flags.ts";

const checkDetails = createValidator<TopicDetailsBody>(topicDetailsBodySchema);

/** Changes the details that the flags name. Throws a RejectionError, and DetailsConflictError. */
export async function describeTopic(
  { services, audit }: CommandContext,
  externalId: string,
  flags: DescribeFlags,
): Promise<void> {
  const record = audit();
  const { topicDetails, detailsService } = await services();
  const mark = await requireUnmanaged(topicDetails, [externalId], {
    force: flags.force === true,
    canSee: () => true,
  });
  const [current] = await topicDetails.find([externalId]);
  const body = { ...toDetailsBody(current ?? noDetails), ...toChanges(flags) };
  const checked = checkDetails(body);
  if (!checked.ok)
    throw new RejectionError("SCHEMA_VIOLATION", formatFaults(checked.faults, "The details"), checked.faults);
  const { listed, event } = await detailsService
    .replace({
      externalId,
      details: toDetails(checked.value),
      version: flags.ifVersion ?? current?.version ?? 0,
      user: getCommandLineUser(),
      canSee: () => true,
      check: undefined,
    })
    .catch((error: unknown) => {
      if (error instanceof UnknownTopicError) throw createUnknownTopicError(externalId);
      throw error instanceof RejectionError && error.details.length > 0
        ? new RejectionError(error.code, formatFaults(error.details, "The details"), error.details)
        : error;
    });
  if (event !== undefined) record(mark(event));
  if (flags.json) printJson(toTopicDetail(listed));
  else printLine(sanitize(`${event === undefined ? "unchanged:" : "described"} ${externalId}`));
}

/** The members of the body that the flags set; an empty text empties a list. */
function toChanges(flags: DescribeFlags): TopicDetailsBody {
  const { owner, description, contact, tag, label, lifecycle, sunset, replacedBy, consumer } = flags;
  return {
    ...(owner !== undefined && { owner }),
    ...(description !== undefined && { description }),
    ...(contact !== undefined && { contact }),
    ...(tag && { tags: dropEmpty(tag) }),
    ...(label && { labels: Object.fromEntries(dropEmpty(label).map(splitPair)) }),
    ...(lifecycle && { lifecycle }),
    ...(sunset !== undefined && { sunset: sunset === "" ? null : sunset }),
    ...(replacedBy !== undefined && { replacedBy }),
    ...(consumer && {
      consumers: dropEmpty(consumer).map((one) => {
        const [name, given] = splitPair(one);
        return { name, contact: given };
      }),
    }),
    ...(flags.protected !== undefined && { protected: flags.protected }),
  };
}

const dropEmpty = (texts: readonly string[]): string[] => texts.filter((text) => text !== "");

/** Splits `name=value` at the first equals sign. */
function splitPair(text: string): [string, string] {
  const at = text.indexOf("=");
  return at === -1 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}
