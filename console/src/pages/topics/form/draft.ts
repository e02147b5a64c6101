import { useEffect, useState } from "preact/hooks";

import type { FilterWarning, TopicCheck } from "../../../../../schemas/topics/check.ts";
import { api } from "../../../api.ts";
import { findFilterError } from "../filter.tsx";

/** The definition being entered. */
export interface Draft {
  readonly name: string;
  readonly externalId: string;
  readonly namespace: string;
  readonly headerQuery: string;
  readonly contentQuery: string;
}

const emptyDraft: Draft = {
  name: "",
  externalId: "",
  namespace: "",
  headerQuery: "",
  contentQuery: "",
};

/** The draft in an address, which other pages may link to. */
export const readDraft = (query: URLSearchParams): Draft => ({
  ...emptyDraft,
  headerQuery: query.get("headerQuery") ?? "",
  contentQuery: query.get("contentQuery") ?? "",
});

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

interface DraftCheck {
  /** With other topics. */
  readonly conflicts: Faults;
  readonly warnings: readonly FilterWarning[];
}

const nothingFound: DraftCheck = { conflicts: {}, warnings: [] };

/** Asks the service about other topics and about events, after a pause in typing; nothing without a draft. */
export function useDraftCheck(draft: Draft | undefined): DraftCheck {
  const [found, setFound] = useState(nothingFound);
  useEffect(() => {
    setFound(nothingFound);
    if (draft === undefined || Object.values(draft).every((text) => text === "")) return undefined;
    const aborted = new AbortController();
    const timer = setTimeout(() => {
      api.post<TopicCheck>("/api/topicsync/v1/topic-check", draft, { signal: aborted.signal }).then(
        ({ faults, warnings }) => {
          const conflicts = toFaults(faults.filter(({ path }) => isConflict(path, draft)));
          setFound({ conflicts, warnings });
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
  return found;
}

/** Whether a fault is one that `validateDraft` cannot find. */
const isConflict = (path: string, { externalId, name }: Draft): boolean =>
  (path === "/externalId" && externalId !== "") || (path === "" && name !== "");
