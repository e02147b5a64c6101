import { useEffect, useRef, useState } from "preact/hooks";

import type { InstallationList } from "../../../../schemas/installations/list.ts";
import { api } from "../../api.ts";
import { isSessionExpired } from "../../query.ts";
import { useSession } from "../../session.ts";

/** What a search for one page of installations has found so far. */
interface Progress {
  readonly found: InstallationList["installations"];
  /** The number of installations that were searched. */
  readonly scanned: number;
  /** The cursor to continue with; null at the end. */
  readonly next: string | null;
}

export interface Search extends Progress {
  readonly state: "idle" | "running" | "stopped" | "done" | "failed";
  readonly error: unknown;
  readonly stop: () => void;
  /** Continues where it stopped or failed. */
  readonly resume: () => void;
  readonly restart: () => void;
}

const path = "/api/topicsync/v1/installations";
const pageSize = 50;
const noProgress: Progress = { found: [], scanned: 0, next: null };
const idle = { ...noProgress, state: "idle", error: undefined } as const;

const isIncomplete = ({ found, next }: Progress): boolean => next !== null && found.length < pageSize;

/**
 * Searches until a page is full or all installations were searched. Each response takes about a second,
 * however rare the matches are. Without a query it does nothing.
 */
export function useSearch(query: string | undefined, after: string | undefined): Search {
  const [current, setCurrent] = useState<Progress & Pick<Search, "state" | "error">>(idle);
  const { expire } = useSession();
  /** The number of the latest search; results of earlier ones are ignored. */
  const latest = useRef(0);

  async function search(from: Progress, start: string | undefined): Promise<void> {
    const number = (latest.current += 1);
    let progress = from;
    let cursor: string | null | undefined = start;
    setCurrent({ ...progress, state: "running", error: undefined });
    try {
      do {
        const parameters = new URLSearchParams(query);
        parameters.set("limit", String(pageSize - progress.found.length));
        if (typeof cursor === "string") parameters.set("after", cursor);
        const page: InstallationList = await api.get<InstallationList>(`${path}?${parameters.toString()}`);
        if (number !== latest.current) return;
        progress = {
          found: [...progress.found, ...page.installations],
          scanned: progress.scanned + page.scanned,
          next: page.next,
        };
        cursor = page.next;
        setCurrent({ ...progress, state: isIncomplete(progress) ? "running" : "done", error: undefined });
      } while (isIncomplete(progress));
    } catch (error) {
      if (number !== latest.current) return;
      if (isSessionExpired(error)) expire();
      else setCurrent({ ...progress, state: "failed", error });
    }
  }

  function restart(): void {
    void search(noProgress, after);
  }

  useEffect(() => {
    if (query === undefined) setCurrent(idle);
    else restart();
    return () => {
      latest.current += 1;
    };
  }, [query, after]);

  return {
    ...current,
    restart,
    stop: () => {
      latest.current += 1;
      setCurrent((last) => ({ ...last, state: "stopped" }));
    },
    resume: () => {
      void search(current, current.next ?? after);
    },
  };
}
