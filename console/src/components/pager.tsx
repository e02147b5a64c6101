import { useState } from "preact/hooks";

/** The position in a list whose pages each name the next one. */
interface Paging {
  /** The cursor of the current page; undefined for the first. */
  readonly after: string | undefined;
  /** The page number, from 1. */
  readonly page: number;
  readonly goToNext: (cursor: string) => void;
  readonly goToPrevious: () => void;
}

/** Remembers the cursors of the visited pages. Another `listKey` starts at its first page. */
export function usePaging(listKey: string): Paging {
  const [visited, setVisited] = useState<{ listKey: string; cursors: readonly string[] }>({
    listKey,
    cursors: [],
  });
  const cursors = visited.listKey === listKey ? visited.cursors : [];
  return {
    after: cursors.at(-1),
    page: cursors.length + 1,
    goToNext: (cursor) => {
      setVisited({ listKey, cursors: [...cursors, cursor] });
    },
    goToPrevious: () => {
      setVisited({ listKey, cursors: cursors.slice(0, -1) });
    },
  };
}

/** The path of the current page of a list, of 50 items. Empty parameters are left out. */
export function toPagePath(
  path: string,
  { after = "" }: Paging,
  parameters: Readonly<Record<string, string>> = {},
): string {
  const given = Object.entries({ ...parameters, limit: "50", after }).filter(([, value]) => value !== "");
  return `${path}?${new URLSearchParams(given).toString()}`;
}

interface PagerProps {
  readonly paging: Paging;
  /** The cursor of the next page; null on the last. */
  readonly next: string | null;
}

export function Pager({ paging, next }: PagerProps) {
  if (paging.page === 1 && next === null) return null;
  return (
    <nav class="pager" aria-label="Pages of the list">
      <button type="button" class="outline" disabled={paging.page === 1} onClick={paging.goToPrevious}>
        Previous
      </button>
      <span role="status">Page {paging.page}</span>
      <button
        type="button"
        class="outline"
        disabled={next === null}
        onClick={() => {
          if (next !== null) paging.goToNext(next);
        }}
      >
        Next
      </button>
    </nav>
  );
}
