import { Argument, InvalidArgumentError, Option, type Command } from "commander";

import { createValidator } from "@topicsync/lib/validation";

/** A member of a query or body, as its schema describes it. */
interface Member {
  readonly name: string;
  readonly schema: {
    readonly type?: unknown;
    readonly enum?: readonly unknown[];
    readonly items?: object;
    readonly description?: string;
  };
  readonly isRequired: boolean;
}

/**
 * How members are given that are not given as their schemas say; undefined: not at all. A member may have
 * several options, of which one is given.
 */
export type MemberOverrides = Readonly<Record<string, Option | readonly Option[] | Argument | undefined>>;

/** Reads members from arguments and options; those that are not given are left out. */
export type ReadMembers = () => Readonly<Record<string, unknown>>;

/** The members of an object, by its schema. */
export function listMembers(schema: object | undefined): Member[] {
  const { properties = {}, required = [] } = (schema ?? {}) as {
    readonly properties?: Readonly<Record<string, Member["schema"]>>;
    readonly required?: readonly string[];
  };
  return Object.entries(properties).map(([name, one]) => ({
    name,
    schema: one,
    isRequired: required.includes(name),
  }));
}

/** Adds options for members, checked by their schemas. */
export function addOptions(
  command: Command,
  members: readonly Member[],
  overrides: MemberOverrides = {},
): ReadMembers {
  const options = members.flatMap((member) => {
    const given = member.name in overrides ? overrides[member.name] : toOption(member);
    return [given]
      .flat()
      .flatMap((option) => (option instanceof Option ? [{ name: member.name, option }] : []));
  });
  for (const { option } of options) command.addOption(option);
  return () =>
    Object.fromEntries(
      options.flatMap(({ name, option }) => {
        const value: unknown = command.getOptionValue(option.attributeName());
        return value === undefined ? [] : [[name, value]];
      }),
    );
}

/** Adds arguments for members, checked by their schemas. */
export function addArguments(
  command: Command,
  members: readonly Member[],
  overrides: MemberOverrides = {},
): ReadMembers {
  const first = command.registeredArguments.length;
  for (const member of members) {
    const given = overrides[member.name];
    command.addArgument(given instanceof Argument ? given : toArgument(member));
  }
  return () =>
    Object.fromEntries(members.map(({ name }, at) => [name, command.processedArgs[first + at] as unknown]));
}

function toOption({ name, schema, isRequired }: Member): Option {
  const { type, description = "" } = schema;
  const values: Readonly<Record<string, string>> = {
    boolean: "",
    array: " <value...>",
    integer: " <number>",
  };
  const option = new Option(`--${toKebab(name)}${values[String(type)] ?? " <value>"}`, toHelp(description));
  const choices = listChoices(schema);
  if (choices !== undefined) option.choices(choices);
  else if (type !== "boolean") option.argParser(createParser(schema));
  return option.makeOptionMandatory(isRequired);
}

function toArgument({ name, schema }: Member): Argument {
  const argument = new Argument(`<${toKebab(name)}>`, toHelp(schema.description ?? ""));
  const choices = listChoices(schema);
  return choices === undefined ? argument.argParser(createParser(schema)) : argument.choices(choices);
}

const listChoices = ({ enum: values }: Member["schema"]): string[] | undefined =>
  values?.filter((one): one is string => typeof one === "string");

/** Parses and checks what the schema describes; a list one item at a time. */
function createParser(schema: Member["schema"]): (text: string, before: unknown) => unknown {
  const isList = schema.type === "array";
  const check = createValidator(isList ? (schema.items ?? {}) : schema);
  return (text, before) => {
    const value = schema.type === "integer" && /^\d{1,15}$/.test(text) ? Number(text) : text;
    const checked = check(value);
    if (!checked.ok)
      throw new InvalidArgumentError(`It ${checked.faults.map(({ message }) => message).join(" and ")}.`);
    return isList ? [...((before ?? []) as unknown[]), value] : value;
  };
}

const toKebab = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** The first sentence as help texts have it: "list users" for "List users. By name.". */
export function toHelp(description: string): string {
  const [first = ""] = description.split(/\.(?: |$)/, 1);
  return `${first.charAt(0).toLowerCase()}${first.slice(1)}`;
}
