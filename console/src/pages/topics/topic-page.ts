import { useEffect, useState } from "preact/hooks";

import type { TopicList } from "../../../../schemas/topic-list.ts";
import type { TopicView } from "../../../../schemas/topic-view.ts";
import { api } from "../../api.ts";
import { isSessionExpired } from "../../query.ts";
import { useSession } from "../../session.ts";

/** A page of topics, as far as it has loaded. */
export interface TopicPage {
  readonly topics: readonly TopicView[];
  readonly next: string | null;
  readonly error: unknown;
  readonly loading: boolean;
  readonly refetch: () => void;
}

const pageSize = 50;
const initial = { topics: [], next: null, error: undefined, loading: true } as const;

/**
 * Loads a page of topics. The service searches for a limited time and may return less than a page: then it is
 * asked for the rest, while the topics found so far are shown.
 */
export function useTopicPage(query: string, after: string | undefined): TopicPage {
  const [state, setState] = useState<Omit<TopicPage, "refetch">>(initial);
  const [attempt, setAttempt] = useState(0);
  const { expire } = useSession();

  useEffect(() => {
    const aborted = new AbortController();
    const { signal } = aborted;
    setState((before) => ({ ...before, error: undefined, loading: true }));

    async function load(): Promise<void> {
      const topics: TopicView[] = [];
      let next: string | null | undefined = after;
      while (next !== null && topics.length < pageSize) {
        const parameters = new URLSearchParams(query);
        parameters.set("limit", String(pageSize - topics.length));
        if (next !== undefined) parameters.set("after", next);
        const found = await api.get<TopicList>(`/api/topicsync/v1/topics?${parameters.toString()}`, signal);
        topics.push(...found.topics);
        ({ next } = found);
        setState({ topics: [...topics], next, error: undefined, loading: true });
      }
      setState({ topics, next: next ?? null, error: undefined, loading: false });
    }

    load().catch((error: unknown) => {
      if (signal.aborted) return;
      if (isSessionExpired(error)) expire();
      else setState({ topics: [], next: null, error, loading: false });
    });
    return () => {
      aborted.abort();
    };
  }, [query, after, attempt]);

  return {
    ...state,
    refetch: () => {
      setAttempt(attempt + 1);
    },
  };
}
