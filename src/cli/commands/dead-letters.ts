import { Option, type Command } from "commander";

import {
  maxCounted,
  type DeadLetterItem,
  type DeadLetterList,
  type DeadLetterView,
} from "../../../schemas/dead-letters/dead-letter.ts";
import { getDeadLetter, listDeadLetters } from "../../operations/dead-letters.ts";
import { addOperation, addStream } from "../client/command.ts";
import { deadLetterColumns, formatDeadLetter, toRow } from "../output/dead-letter-view.ts";
import { defineReplay, filterMembers, readLetterPages } from "./replay.ts";

/** Defines `topicsync dead-letters …`. */
export function defineDeadLetters(deadLetters: Command): void {
  addStream<DeadLetterItem, DeadLetterList>(deadLetters, {
    name: "list",
    operation: listDeadLetters,
    description: "list dead letters, newest first",
    members: {
      ...filterMembers(),
      replayed: [
        new Option("--replayed", "only those that were replayed"),
        new Option("--not-replayed", "only those that were not replayed").preset(false).conflicts("replayed"),
      ],
    },
    read: readLetterPages,
    getItems: (page) => page.deadLetters,
    columns: deadLetterColumns,
    toRow: (one) => toRow(one, Date.now()),
    summarize: formatTotals,
  });
  addOperation<DeadLetterView>(deadLetters, {
    name: "show",
    operation: getDeadLetter,
    description: "show a dead letter",
    format: (letter) => formatDeadLetter(letter, Date.now()),
  });
  defineReplay(deadLetters);
}

function formatTotals(count: number, { counts, total }: DeadLetterList): string {
  if (total === 0) return "There are no dead letters.";
  const byCode = Object.entries(counts).toSorted(([, a], [, b]) => b - a);
  const toPlus = (largest = 0): string => (largest >= maxCounted ? "+" : "");
  const codes = byCode.map(([code, one]) => `${one}${toPlus(one)} ${code}`).join(", ");
  const all = `${Math.max(count, total)}${toPlus(byCode[0]?.[1])}`;
  return count === 0
    ? `No dead letters match (${all} in total: ${codes}).`
    : `${count} of ${all} dead letters (${codes})`;
}
