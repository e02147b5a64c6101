import { useEffect, useState } from "preact/hooks";

import type { TopicCheck } from "../../../../schemas/topic-check.ts";
import { api } from "../../api.ts";
import { findFilterError } from "./filter.tsx";

/** The definition being entered. */
export interface Draft {
  readonly name: string;
  readonly externalId: string;
  readonly namespace: string;
  readonly headerQuery: string;
  readonly contentQuery: string;
}

export const emptyDraft: Draft = {
  name: "",
  externalId: "",
  namespace: "",
  headerQuery: "",
  contentQuery: "",
};

export type DraftMember = keyof Draft;

/** Messages by member; `topic` for faults of the topic as a whole. */
export type Faults = Readonly<Partial<Record<DraftMember | "topic", string>>>;

/** Validates without the service. Empty fields are reported only after the form was submitted. */
export function validateDraft(draft: Draft, { wasSubmitted }: { readonly wasSubmitted: boolean }): Faults {
  const { name, externalId, headerQuery, contentQuery } = draft;
  const faults = {
    name: wasSubmitted && name === "" ? "Enter a name." : undefined,
    externalId: wasSubmitted && externalId === "" ? "Enter an external id." : undefined,
    headerQuery: findFilterError(headerQuery)?.problem,
    contentQuery: findFilterError(contentQuery)?.problem,
  };
  return Object.fromEntries(Object.entries(faults).filter(([, fault]) => fault !== undefined));
}

/** Converts the faults that the service returns. */
export function toFaults(details: readonly { readonly path: string; readonly message: string }[]): Faults {
  return Object.fromEntries(
    details.map(({ path, message }) => [path === "" ? "topic" : path.slice(1), formatFaults(path, message)]),
  );
}

const formatFaults = (path: string, message: string): string =>
  `${path === "" ? message.charAt(0).toUpperCase() + message.slice(1) : `It ${message}`}.`;

const typingDelayMs = 300;

/** Asks the service for conflicts with other topics, after a pause in typing. */
export function useConflicts(draft: Draft): Faults {
  const [conflicts, setConflicts] = useState<Faults>({});
  useEffect(() => {
    setConflicts({});
    if (draft.externalId === "" && draft.name === "") return undefined;
    const aborted = new AbortController();
    const timer = setTimeout(() => {
      api.post<TopicCheck>("/api/topicsync/v1/topic-check", draft, aborted.signal).then(
        ({ faults }) => {
          setConflicts(toFaults(faults.filter(({ path }) => isConflict(path, draft))));
        },
        // Creating the topic will report it.
        () => undefined,
      );
    }, typingDelayMs);
    return () => {
      clearTimeout(timer);
      aborted.abort();
    };
  }, [draft]);
  return conflicts;
}

/** Whether a fault is one that `validateDraft` cannot find. */
const isConflict = (path: string, { externalId, name }: Draft): boolean =>
  (path === "/externalId" && externalId !== "") || (path === "" && name !== "");
