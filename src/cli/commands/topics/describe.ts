import type { TopicDetailsBody, TopicLifecycle } from "../../../../schemas/topics/details.ts";
import type { TopicDetail } from "../../../../schemas/topics/view.ts";
import { describeTopic } from "../../../operations/topic-details.ts";
import { getTopic } from "../../../operations/topic-versions.ts";
import { pickDetails, toDetails } from "../../../topics/details/details.ts";
import { runWithClient } from "../../client/client.ts";
import type { ServerFlag } from "../../input/server.ts";
import type { ForceFlag } from "../../input/options.ts";
import { printJson, printLine, sanitize } from "../../output/output.ts";

/** What the options say. Absent members keep what is stored. */
export interface DescribeFlags extends ForceFlag, ServerFlag {
  readonly owner?: string;
  readonly description?: string;
  readonly contact?: string;
  readonly tag?: readonly string[];
  readonly label?: readonly string[];
  readonly lifecycle?: TopicLifecycle;
  readonly sunset?: string;
  readonly replacedBy?: string;
  readonly consumer?: readonly string[];
  readonly protected?: boolean;
  readonly ifVersion?: number;
}

/** Changes the details that the flags name. */
export async function changeDetails(externalId: string, flags: DescribeFlags): Promise<void> {
  const { topic, isChanged } = await runWithClient(flags, async (client) => {
    const { details } = (await client.call<TopicDetail>(getTopic, { parameters: { id: externalId } })).json;
    const { json } = await client.call<TopicDetail>(describeTopic, {
      parameters: { externalId },
      query: { force: flags.force },
      body: { ...pickDetails(toDetails(details)), ...toChanges(flags) },
      ifMatch: flags.ifVersion ?? details.version,
    });
    return { topic: json, isChanged: json.details.version !== details.version };
  });
  if (flags.json) printJson(topic);
  else printLine(sanitize(`${isChanged ? "described" : "unchanged:"} ${externalId}`));
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
