import { useEffect, useState } from "preact/hooks";

import { type FilterMember, printCondition } from "@topicsync/filters";
import type { EventTypeList, EventTypeView } from "../../../../../schemas/event-types.ts";
import { api } from "../../../api.ts";
import { eventTypesPath } from "../../event-types/list.tsx";

type Path = EventTypeView["paths"][number];

/** What is known about the events that a filter is written for. */
export interface EventStructure {
  readonly types: readonly string[];
  readonly paths: readonly Path[];
}

const unknown: EventStructure = { types: [], paths: [] };
/** How many types are looked at while the header query names none. */
const maxTypes = 5;

/** Loads the event types that a header query names, or the most frequent ones. Nothing if that fails. */
export function useEventStructure(headerQuery: string): EventStructure {
  const [types, setTypes] = useState<readonly string[]>([]);
  const [paths, setPaths] = useState<readonly Path[]>([]);
  const named = types.filter((name) => headerQuery.includes(name));
  const wanted = (named.length > 0 ? named : types).slice(0, maxTypes).join("\n");
  useEffect(() => {
    api.get<EventTypeList>(eventTypesPath).then(
      ({ eventTypes }) => {
        setTypes(eventTypes.map(({ name }) => name).filter((name) => name !== "-"));
      },
      () => undefined,
    );
  }, []);
  useEffect(() => {
    if (wanted === "") return undefined;
    let isCurrent = true;
    const names = wanted.split("\n");
    Promise.all(
      names.map((name) => api.get<EventTypeView>(`${eventTypesPath}/${encodeURIComponent(name)}`)),
    ).then(
      (found) => {
        if (isCurrent) setPaths(joinPaths(found));
      },
      () => undefined,
    );
    return () => {
      isCurrent = false;
    };
  }, [wanted]);
  return types.length === 0 ? unknown : { types, paths };
}

/** Each path once, the most frequent first. */
function joinPaths(types: readonly EventTypeView[]): Path[] {
  const sorted = types.flatMap(({ paths }) => paths).toSorted((a, b) => b.events - a.events);
  return [...new Map(sorted.toReversed().map((one) => [one.path, one])).values()].toReversed();
}

interface CompletionsProps {
  readonly member: FilterMember;
  readonly text: string;
  readonly structure: EventStructure;
  readonly onChoose: (text: string) => void;
}

/** Buttons that continue the last condition of a filter: with a path, an operator or a value. */
export function Completions({ member, text, structure, onChoose }: CompletionsProps) {
  const start = text.lastIndexOf("&") + 1;
  const before = text.slice(0, start);
  const words = listCompletions(text.slice(start), member, structure);
  if (words.length === 0) return null;
  return (
    <div class="completions" role="group" aria-label="Continue with">
      {words.map((word) => (
        <button
          key={word}
          type="button"
          class="small outline secondary code"
          onClick={() => {
            onChoose(before + word);
          }}
        >
          {word}
        </button>
      ))}
    </div>
  );
}

const maxWords = 20;
const operators = ["=", "!=", ">", ">=", "<", "<=", ".exists=true", ".prefix=", ".contains=", ".like="];

function listCompletions(
  condition: string,
  member: FilterMember,
  { types, paths }: EventStructure,
): readonly string[] {
  const typed = condition.trim();
  const known = paths.filter(({ filter, name }) => filter === member && !name.includes("*"));
  const equal = /^([^=!<>]*)=([^,]*)$/u.exec(typed);
  if (equal !== null) {
    const [, name = "", begun = ""] = equal;
    const values = name === "eventType" && member === "headerQuery" ? types : findValues(known, name);
    return values
      .filter((value) => value.toLowerCase().startsWith(begun.toLowerCase()) && value !== begun)
      .slice(0, maxWords)
      .map((value) => `${name}=${printValue(value)}`);
  }
  if (/[=<>!]/u.test(typed)) return [];
  if (known.some(({ name, kinds }) => name === typed && isValue(kinds)))
    return operators.map((operator) => typed + operator);
  const lower = typed.toLowerCase();
  return known
    .filter(({ name, kinds }) => isValue(kinds) && name.toLowerCase().includes(lower))
    .slice(0, maxWords)
    .map(({ name }) => name);
}

const findValues = (paths: readonly Path[], wanted: string): readonly string[] =>
  paths.find(({ name }) => name === wanted)?.values ?? [];

const isValue = ({ string = 0, number = 0, boolean = 0 }: Path["kinds"]): boolean =>
  string + number + boolean > 0;

/** A value as a filter has it. */
const printValue = (value: string): string =>
  printCondition({ path: ["x"], operator: "eq", values: [value] }).slice("x=".length);
