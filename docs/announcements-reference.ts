/** The reference of what is read from Kafka and written there, in Markdown, made of what the AsyncAPI document is made of. */
import { channels, type Channel } from "../consumers/asyncapi.ts";
import type { Message } from "../consumers/asyncapi-messages.ts";
import { toAnchor } from "./markdown.ts";
import { membersTable } from "./members.ts";

/** Every Kafka topic, then every message once. */
export function announcementsReference(): string {
  const messages = [...new Set(channels.flatMap((channel) => channel.messages))];
  return ["## Kafka topics", ...channels.map(channelOf), "## Messages", ...messages.map(messageOf)].join(
    "\n\n",
  );
}

function channelOf({ address, setting, action, summary, description, messages }: Channel): string {
  const links = messages.map(({ title }) => `[${title}](#${toAnchor(title)})`);
  const does = action === "receive" ? "Read" : "Written";
  return [
    `### ${summary}`,
    `${does}: \`${address.replace(/\{\w+\}/, `<${setting}>`)}\` (setting \`${setting}\`).`,
    description,
    `Messages: ${links.join(", ")}.`,
  ].join("\n\n");
}

/** What CloudEvents carry is told of once, under its own titles. */
const elsewhere = ({ $id }: { readonly $id?: string }): string | undefined =>
  $id === "carried" ? "a definition or a notification" : undefined;

function messageOf({ title, summary, key, contentType, headers, payload, examples }: Message): string {
  const [example] = examples;
  return [
    `### ${title}`,
    summary,
    `Key: ${key}${contentType === undefined ? "" : ` Content type: \`${contentType}\`.`}`,
    ...(headers === undefined ? [] : [`Headers:\n\n${membersTable(headers, { side: "sent", elsewhere })}`]),
    valueOf(payload),
    ...(example === undefined ? [] : [exampleOf(example)]),
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

function valueOf(payload: Shape): string {
  if (payload.anyOf !== undefined) return "Value: a definition or a notification.";
  if (payload.properties === undefined) return `Value: ${payload.description ?? "anything."}`;
  return `Value:\n\n${membersTable(payload, { side: "sent", elsewhere })}`;
}

interface Shape {
  readonly anyOf?: readonly object[];
  readonly properties?: object;
  readonly description?: string;
}

function exampleOf({ headers, payload }: Message["examples"][number]): string {
  const shown = headers === undefined ? payload : { headers, value: payload };
  return `\`\`\`json\n${JSON.stringify(shown, undefined, 2)}\n\`\`\``;
}
