import type { Command } from "commander";

import { UnavailableError } from "@topicsync/lib/errors";
import {
  maxSentEvents,
  type RecordContent,
  type EventItem,
  type EventList,
  type EventTrace,
  type SentEvents,
} from "../../../schemas/events.ts";
import { sendEvents } from "../../operations/events/sending.ts";
import { getEvent, listEvents } from "../../operations/events/events.ts";
import { addQuery, type Query } from "../client/command.ts";
import { runWithClient } from "../client/client.ts";
import type { OperationClient } from "../client/operation-client.ts";
import { readLines, readTextFile } from "../input/files.ts";
import { parseCount, type JsonFlag } from "../input/options.ts";
import { serverOption, type ServerFlag } from "../input/server.ts";
import { formatCount } from "../output/format.ts";
import { printItems } from "../output/items.ts";
import { openOutput, printError, printJson, printLine, sanitize } from "../output/output.ts";
import { createLongProgress, type Progress } from "../output/progress.ts";
import { formatContent, writeTrace } from "../output/trace-view.ts";

type Flags = JsonFlag & ServerFlag;

const eventsPerPage = 200;
/** Reading fewer shows no progress. */
const longRead = 20_000;

/** Defines the commands on single events. */
export function defineEventLog(events: Command): void {
  const list = events
    .command("list")
    .description("list events, latest first, and how many topics match each");
  const readQuery = addQuery(list, listEvents);
  list
    .option("--limit <count>", "how many to list", parseCount, 50)
    .option("--json", "print one line of JSON each (NDJSON) instead of a table")
    .option(...serverOption)
    .action((flags: Flags & { readonly limit: number }) => runList(readQuery(), flags));

  addEvent(events, "show", "show the key, headers and value of an event", (event) => {
    for (const line of describeRecord(event)) printLine(sanitize(line));
    return Promise.resolve();
  });
  const trace = addEvent(
    events,
    "trace",
    "trace an event: topics that match it, copies, dead letter",
    (event) => writeTrace(openOutput(), event),
  );
  trace.option("--explain <externalId>", "also show why this topic matches, or not");

  events
    .command("send")
    .description("send events, and show how many topics match each")
    .argument("<file>", 'a file with an event, or a list of events, as JSON; "-" is standard input')
    .option("--ndjson", "read one event per line")
    .option("--key <key>", "the key of the records, which decides on their partition")
    .option("--header <name=value...>", "a header of the records")
    .option("--sample", "mark the events and their copies as samples, by the header topicsync.sample")
    .option("--no-wait", "do not wait until the router has read them")
    .option("--json", "print one line of JSON each (NDJSON) instead of a table")
    .option(...serverOption)
    .action(runSend);
}

async function runList(
  query: Query,
  { json, server, limit }: Flags & { readonly limit: number },
): Promise<void> {
  let last: EventList | undefined;
  const printed = await runWithClient({ server }, (client) => {
    async function* readItems(): AsyncGenerator<EventItem> {
      for await (const page of streamEvents(client, query, limit)) {
        last = page;
        yield* page.events;
      }
    }
    return printItems(readItems(), {
      ...{ json, limit, abort: client.abort },
      columns: [
        { head: "time", width: 25 },
        { head: "id", width: 28 },
        { head: "type", width: 28 },
        { head: "event id", width: 38 },
        { head: "topics", width: 9 },
      ],
      toRow: ({ time, id, eventType, eventId, outcome, topics, code }) =>
        [
          time ?? "",
          id,
          eventType ?? "",
          eventId ?? "",
          outcome === "matched" ? String(topics) : (code ?? outcome),
        ].map(sanitize),
    });
  });
  if (json || printed === undefined) return;
  const more = last?.next === null ? "" : `; ${formatCount(last?.left ?? 0, "earlier record")} not listed`;
  printLine(`${formatCount(printed.count, "event")}${more}`);
}

/** Reads pages until there are enough events, and shows the progress of a long search. */
async function* streamEvents(
  client: OperationClient,
  query: Query,
  limit: number,
): AsyncGenerator<EventList> {
  let left = limit;
  let read = 0;
  let after: string | undefined;
  let progress: Progress | undefined;
  do {
    if (client.abort.aborted) throw new UnavailableError(`stopped after ${formatCount(read, "record")}`);
    const wanted = Math.min(left, eventsPerPage);
    const { json: page } = await client.call<EventList>(listEvents, {
      query: { ...query, limit: wanted, after },
    });
    read += page.read;
    if (page.events.length < wanted)
      progress ??= createLongProgress("reading events", read + page.left, longRead);
    progress?.at(read);
    yield page;
    left -= page.events.length;
    after = page.next ?? undefined;
  } while (after !== undefined && left > 0);
  progress?.end(`read ${read} records`);
}

function addEvent(
  events: Command,
  name: string,
  description: string,
  print: (event: EventTrace) => Promise<void>,
): Command {
  const command = events
    .command(name)
    .description(description)
    .argument("<id>", "its id, such as events-0-42, or its eventId");
  const readQuery = addQuery(command, getEvent, { only: ["to"] });
  return command
    .option("--json", "print JSON")
    .option(...serverOption)
    .action(async (id: string, { json, server, explain }: Flags & { readonly explain?: string }) => {
      const request = { parameters: { id }, query: { ...readQuery(), explain } };
      const { json: event } = await runWithClient({ server }, (client) =>
        client.call<EventTrace>(getEvent, request),
      );
      if (json) printJson(event);
      else await print(event);
    });
}

function describeRecord({ id, time, key, headers, value, faults = [] }: EventTrace): string[] {
  return [
    `id     ${id}`,
    `time   ${time ?? "unknown"}`,
    `key    ${formatContent(key)}`,
    ...headers.map((header) => `header ${header.name}=${formatContent(header.value)}`),
    ...faults.map(({ path, message }) => `fault  ${path} ${message}`),
    ...formatValue(value).split("\n"),
  ];
}

/** Indented, unless a number would be changed. */
function formatValue(value: RecordContent | null): string {
  const text = formatContent(value);
  try {
    const json: unknown = JSON.parse(text);
    return JSON.stringify(json) === text ? JSON.stringify(json, null, 2) : text;
  } catch {
    return text;
  }
}

interface SendFlags extends Flags {
  readonly ndjson?: true;
  readonly key?: string;
  readonly header?: readonly string[];
  readonly sample?: true;
  readonly wait: boolean;
}

async function runSend(file: string, flags: SendFlags): Promise<void> {
  const { key, header = [], sample, wait, server, json } = flags;
  const headers = Object.groupBy(header, (one) => one.split("=", 1)[0] ?? "");
  const $header = Object.fromEntries(
    Object.entries(headers).map(([name, all = []]) => [name, all.map((one) => one.slice(name.length + 1))]),
  );
  const record =
    key === undefined && header.length === 0 ? undefined : JSON.stringify({ $key: key, $header });
  const query = { record, sample, wait: wait ? "routed" : undefined };
  let count = 0;
  await runWithClient({ server }, (client) => {
    async function* send(): AsyncGenerator<SentEvents["events"][number]> {
      for await (const body of readBodies(file, flags)) {
        const { json: sent } = await client.call<SentEvents>(sendEvents, { query, body });
        count += sent.events.length;
        yield* sent.events;
      }
    }
    return printItems(send(), {
      ...{ json, abort: client.abort },
      columns: [{ head: "id", width: 40 }, { head: "outcome", width: 12 }, { head: "topics" }],
      toRow: ({ id, outcome = "sent", topics = "" }) => [sanitize(id), outcome, String(topics)],
    });
  });
  if (!json) printError(`sent ${formatCount(count, "event")}`);
}

/** The bodies of the requests: a file, or as many of its lines as a request may have. */
async function* readBodies(file: string, { ndjson }: SendFlags): AsyncGenerator<string> {
  if (!ndjson) {
    yield await readTextFile(file);
    return;
  }
  let lines: string[] = [];
  for await (const { text } of readLines(file)) {
    if (text.trim() === "") continue;
    lines.push(text);
    if (lines.length < maxSentEvents) continue;
    yield `[${lines.join(",\n")}]`;
    lines = [];
  }
  if (lines.length > 0) yield `[${lines.join(",\n")}]`;
}
