import type { Command } from "commander";

import { UnavailableError } from "@topicsync/lib/errors";
import { sleep } from "@topicsync/lib/platform";
import type { Operation } from "../../operations/framework/operation.ts";
import { parseWhole } from "../input/options.ts";
import { printError, printJson, printLine, sanitize } from "../output/output.ts";
import { printItems } from "../output/items.ts";
import { formatTable, type Column } from "../output/table.ts";
import { runWithClient } from "./client.ts";
import { streamPages, type OperationClient, type OperationRequest } from "./operation-client.ts";
import { serverOption, type ServerFlag } from "../input/server.ts";
import {
  addArguments,
  addOptions,
  listMembers,
  toHelp,
  type MemberOverrides,
  type ReadMembers,
} from "./members.ts";
import { RequestError } from "./request-error.ts";

interface CommonOptions {
  /** The name of the command. */
  readonly name: string;
  readonly operation: Operation;
  /** By default the operation's summary. */
  readonly description?: string;
}

interface OperationCommand<Result> extends CommonOptions {
  /** Members of the body that are arguments; all others are options. */
  readonly arguments?: readonly string[];
  readonly members?: MemberOverrides;
  /** Returns the body for the members that were given; may ask for others. */
  readonly toBody?: (given: Given, path: Readonly<Record<string, string>>) => object | Promise<object>;
  /** The lines for people. */
  readonly format: (result: Result, given: Given) => string | readonly string[] | Promise<readonly string[]>;
  /** How many milliseconds after a result to send the request again, and why; undefined if that was all. */
  readonly repeat?: (result: Result) => { readonly afterMs: number; readonly because: string } | undefined;
  /** A line on standard error, where standard output is for programs. */
  readonly note?: (result: Result, given: Given) => string;
}

/** What arguments and options say, by the names of path parameters and members. */
type Given = ReturnType<ReadMembers>;

interface CommonFlags extends ServerFlag {
  readonly json?: true;
  readonly ifVersion?: number;
}

/** Adds the command of an operation: path parameters are arguments, members of query and body are options. */
export function addOperation<Result>(parent: Command, options: OperationCommand<Result>): void {
  const { operation, members, toBody = (given) => given, format, note, repeat = () => undefined } = options;
  const command = createCommand(parent, options);
  const readPath = addArguments(command, listParameters(operation));
  const all = listMembers(operation.body?.schema);
  const named = (options.arguments ?? []).flatMap((name) => all.filter((member) => member.name === name));
  const readNamed = addArguments(command, named, members);
  const others = all.filter((member) => !named.includes(member));
  const readOthers = addOptions(command, others, members);
  const readQuery = addQuery(command, operation);
  if (operation.ifMatch !== undefined)
    command.option("--if-version <version>", "only if it still has this version", parseWhole);
  finish(command, "print JSON", async ({ json, server, ifVersion: ifMatch }) => {
    const parameters = readPath() as Readonly<Record<string, string>>;
    const given = { ...readNamed(), ...readOthers() };
    const query = readQuery();
    const body = operation.body && { body: await toBody(given, parameters) };
    const { json: result, warnings } = await runWithClient({ server }, async (client) => {
      for (;;) {
        const called = await client.call<Result>(operation, { parameters, query, ...body, ifMatch });
        const again = repeat(called.json);
        if (again === undefined) return called;
        printError(sanitize(again.because));
        await sleep(again.afterMs, client.abort);
        if (client.abort.aborted)
          throw new UnavailableError("interrupted; run the same command again to continue");
      }
    }).catch((error: unknown) => {
      throw addHint(error, parent);
    });
    for (const warning of warnings) printError(sanitize(`warning: ${warning}`));
    if (json) {
      printJson(result);
      return;
    }
    const shown = { ...parameters, ...given };
    for (const line of [await format(result, shown)].flat()) printLine(sanitize(line));
    if (note !== undefined) printError(sanitize(note(result, shown)));
  });
}

interface ListCommand<Item> extends CommonOptions {
  /** The member of the response that has the items. */
  readonly member: string;
  readonly head: readonly string[];
  /** Cells; a list is a cell with several lines. */
  readonly toRow: (item: Item) => readonly (string | readonly string[])[];
  /** What is printed without any items. */
  readonly empty: string;
}

/** Adds the command of an operation that lists something: all its pages, as a table or as one JSON body. */
export function addList<Item>(parent: Command, options: ListCommand<Item>): void {
  const { operation, member, head, toRow, empty } = options;
  const command = createCommand(parent, options);
  const readQuery = addQuery(command, operation);
  finish(command, "print JSON instead of a table", async ({ json, server }) => {
    const query = readQuery();
    const items: Item[] = [];
    const body = await runWithClient({ server }, async (client) => {
      let last: Page = {};
      for await (const page of streamPages<Page>(client, operation, { query })) {
        items.push(...(page[member] as readonly Item[]));
        last = page;
      }
      return { ...last, [member]: items };
    });
    if (json) printJson(body);
    else if (items.length === 0) printLine(empty);
    else
      printLine(
        await formatTable(
          [...head],
          items.map((item) => toRow(item).map(toCell)),
        ),
      );
  });
}

type Page = Readonly<Record<string, unknown>> & { readonly next?: string | null };

interface StreamCommand<Item, Page> extends CommonOptions {
  readonly members?: MemberOverrides;
  readonly read: (client: OperationClient, query: Query) => AsyncIterable<Page>;
  readonly getItems: (page: Page) => readonly Item[];
  readonly columns: readonly Column[];
  readonly toRow: (item: Item) => readonly string[];
  /** The last line of a table. */
  readonly summarize: (count: number, last: Page) => string;
}

/** Adds the command of a list of any length, printed while it is read: as a table, or as NDJSON. */
export function addStream<Item, Page>(parent: Command, options: StreamCommand<Item, Page>): void {
  const { operation, members, read, getItems, columns, toRow, summarize } = options;
  const command = createCommand(parent, options);
  const readQuery = addQuery(command, operation, { members });
  const help = "print one line of JSON each (NDJSON) instead of a table";
  finish(command, help, async ({ json, server }) => {
    const query = readQuery();
    let last: Page | undefined;
    const printed = await runWithClient({ server }, (client) => {
      async function* readItems(): AsyncGenerator<Item> {
        for await (const page of read(client, query)) {
          last = page;
          yield* getItems(page);
        }
      }
      return printItems(readItems(), { json, columns, toRow, abort: client.abort });
    });
    if (!json && printed !== undefined && last !== undefined) printLine(summarize(printed.count, last));
  });
}

const createCommand = (parent: Command, { name, operation, description }: CommonOptions): Command =>
  parent.command(name).description(description ?? toHelp(operation.summary));

const finish = (command: Command, json: string, run: (flags: CommonFlags) => Promise<void>): void =>
  void command
    .option("--json", json)
    .option(...serverOption)
    .action(() => run(command.opts<CommonFlags>()));

const listParameters = ({ parameters = {} }: Operation) =>
  Object.entries(parameters).map(([name, description]) => ({
    ...{ name, schema: { description }, isRequired: true },
  }));

export type Query = NonNullable<OperationRequest["query"]>;

/** Adds options for the parameters of a query but those of pages: commands read them all. */
export function addQuery(
  command: Command,
  { query }: Operation,
  {
    members,
    only,
  }: { readonly members?: MemberOverrides | undefined; readonly only?: readonly string[] } = {},
): () => Query {
  const parameters = (query?.parameters ?? []).filter(
    ({ name }) => only?.includes(name) ?? !["after", "limit"].includes(name),
  );
  const all = parameters.map(({ name, description, schema }) => ({
    ...{ name, schema: { ...schema, description }, isRequired: false },
  }));
  return addOptions(command, all, members) as () => Query;
}

const toCell = (lines: string | readonly string[]): string => [lines].flat().map(sanitize).join("\n");

/** Names the command that lists what exists, if the one that was asked for does not. */
function addHint(error: unknown, parent: Command): unknown {
  const hasList = parent.commands.some((one) => one.name() === "list");
  if (error instanceof RequestError && error.code === "NOT_FOUND" && hasList)
    error.message += ` \`topicsync ${parent.name()} list\` lists all.`;
  return error;
}
