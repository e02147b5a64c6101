import { useEffect, useState } from "preact/hooks";

import type { TopicList } from "../../../../schemas/topic-list.ts";
import type { TopicView } from "../../../../schemas/topic-view.ts";
import { ask } from "../../api.ts";
import { isOver } from "../../query.ts";
import { useSession } from "../../session.ts";

/** A page of topics, as far as it is known. */
export interface TopicPage {
  readonly topics: readonly TopicView[];
  readonly next: string | null;
  readonly error: unknown;
  /** Whether more may come. */
  readonly asking: boolean;
  readonly again: () => void;
}

const topicsAPage = 50;
const nothing = { topics: [], next: null, error: undefined, asking: true } as const;

/**
 * Reads a page of topics, and goes on where the service gives fewer than a page has: it looks for little among much for a
 * moment only. What was found is there meanwhile.
 */
export function useTopicPage(query: string, after: string | undefined): TopicPage {
  const [state, setState] = useState<Omit<TopicPage, "again">>(nothing);
  const [times, setTimes] = useState(0);
  const { leave } = useSession();

  useEffect(() => {
    const aborted = new AbortController();
    const { signal } = aborted;
    setState((before) => ({ ...before, error: undefined, asking: true }));

    async function read(): Promise<void> {
      const topics: TopicView[] = [];
      let next: string | null | undefined = after;
      while (next !== null && topics.length < topicsAPage) {
        const place = new URLSearchParams(query);
        place.set("limit", String(topicsAPage - topics.length));
        if (next !== undefined) place.set("after", next);
        const found = await ask<TopicList>(`/api/topicsync/v1/topics?${place.toString()}`, undefined, signal);
        topics.push(...found.topics);
        ({ next } = found);
        setState({ topics: [...topics], next, error: undefined, asking: true });
      }
      setState({ topics, next: next ?? null, error: undefined, asking: false });
    }

    read().catch((error: unknown) => {
      if (signal.aborted) return;
      if (isOver(error)) leave("over");
      else setState({ topics: [], next: null, error, asking: false });
    });
    return () => {
      aborted.abort();
    };
  }, [query, after, times]);

  return {
    ...state,
    again: () => {
      setTimes(times + 1);
    },
  };
}
