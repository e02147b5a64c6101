import { useEffect, useState } from "preact/hooks";

import type { TopicCheck } from "../../../../schemas/topic-check.ts";
import { ask } from "../../api.ts";
import { filterFault } from "./filter.tsx";

/** A definition on its way. */
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

/** What is wrong with a member, or with the whole. */
export type Faults = Readonly<Partial<Record<keyof Draft | "whole", string>>>;

/** What is seen without asking anybody. That something is still empty is no fault before it was tried. */
export function localFaults(draft: Draft, { tried }: { readonly tried: boolean }): Faults {
  const { name, externalId, headerQuery, contentQuery } = draft;
  const faults = {
    name: tried && name === "" ? "A topic needs a name." : undefined,
    externalId: tried && externalId === "" ? "A topic needs an external id." : undefined,
    headerQuery: filterFault(headerQuery)?.problem,
    contentQuery: filterFault(contentQuery)?.problem,
  };
  return Object.fromEntries(Object.entries(faults).filter(([, fault]) => fault !== undefined));
}

/** What the service has against it, by member. */
export function remoteFaults(
  details: readonly { readonly path: string; readonly message: string }[],
): Faults {
  return Object.fromEntries(
    details.map(({ path, message }) => [path === "" ? "whole" : path.slice(1), sentence(path, message)]),
  );
}

const sentence = (path: string, message: string): string =>
  `${path === "" ? message.charAt(0).toUpperCase() + message.slice(1) : `It ${message}`}.`;

const waitMs = 300;

/** What of a draft is taken by another topic: only the service knows. It is asked when nothing was typed for a moment. */
export function useTaken(draft: Draft): Faults {
  const [taken, setTaken] = useState<Faults>({});
  useEffect(() => {
    setTaken({});
    if (draft.externalId === "" && draft.name === "") return undefined;
    const aborted = new AbortController();
    const timer = setTimeout(() => {
      ask<TopicCheck>("/api/topicsync/v1/topic-check", draft, aborted.signal).then(
        ({ faults }) => {
          setTaken(remoteFaults(faults.filter(({ path }) => isTaken(path, draft))));
        },
        // Creating it will say what is the matter.
        () => undefined,
      );
    }, waitMs);
    return () => {
      clearTimeout(timer);
      aborted.abort();
    };
  }, [draft]);
  return taken;
}

/** Whether it is more than what is seen here: that the member is empty, or no filter. */
const isTaken = (path: string, { externalId, name }: Draft): boolean =>
  (path === "/externalId" && externalId !== "") || (path === "" && name !== "");
