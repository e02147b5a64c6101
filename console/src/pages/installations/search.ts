import { useEffect, useRef, useState } from "preact/hooks";

import type { InstallationList } from "../../../../schemas/installation-list.ts";
import { ask } from "../../api.ts";
import { isOver } from "../../query.ts";
import { useSession } from "../../session.ts";

/** What a search for a page of installations has come to. */
interface Progress {
  readonly found: InstallationList["installations"];
  /** So many were looked at. */
  readonly looked: number;
  /** Where it goes on; null at the end of all. */
  readonly next: string | null;
}

export interface Search extends Progress {
  readonly state: "idle" | "running" | "stopped" | "done" | "failed";
  readonly error: unknown;
  readonly stop: () => void;
  /** Goes on where it stopped, or where it failed. */
  readonly goOn: () => void;
  /** Searches anew. */
  readonly again: () => void;
}

const path = "/api/topicsync/v1/installations";
const pageSize = 50;
const nothing: Progress = { found: [], looked: 0, next: null };

/**
 * Searches until a page is full or all were looked at: an answer takes about a second, however rare is what is meant.
 * Nothing is asked where there is no query.
 */
export function useSearch(query: string | undefined, after: string | undefined): Search {
  const [at, setAt] = useState<Progress & Pick<Search, "state" | "error">>(idle);
  const { leave } = useSession();
  /** The search under way: what an older one finds does not count any more. */
  const latest = useRef(0);

  async function search(from: Progress, begin: string | undefined): Promise<void> {
    const mine = (latest.current += 1);
    let progress = from;
    let cursor: string | null | undefined = begin;
    setAt({ ...progress, state: "running", error: undefined });
    try {
      do {
        const limit = `&limit=${pageSize - progress.found.length}`;
        const place: string = typeof cursor === "string" ? `&after=${cursor}` : "";
        const page: InstallationList = await ask<InstallationList>(`${path}?${query ?? ""}${limit}${place}`);
        if (mine !== latest.current) return;
        progress = {
          found: [...progress.found, ...page.installations],
          looked: progress.looked + page.scanned,
          next: page.next,
        };
        cursor = page.next;
        setAt({ ...progress, state: isOpen(progress) ? "running" : "done", error: undefined });
      } while (isOpen(progress));
    } catch (error) {
      if (mine !== latest.current) return;
      if (isOver(error)) leave("over");
      else setAt({ ...progress, state: "failed", error });
    }
  }

  function again(): void {
    void search(nothing, after);
  }

  useEffect(() => {
    if (query === undefined) setAt(idle);
    else again();
    return () => {
      latest.current += 1;
    };
  }, [query, after]);

  return {
    ...at,
    again,
    stop: () => {
      latest.current += 1;
      setAt((last) => ({ ...last, state: "stopped" }));
    },
    goOn: () => {
      void search(at, at.next ?? after);
    },
  };
}

const idle = { ...nothing, state: "idle", error: undefined } as const;

const isOpen = ({ found, next }: Progress): boolean => next !== null && found.length < pageSize;
