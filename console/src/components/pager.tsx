import { useState } from "preact/hooks";

/** Where one is in a list that is read page after page, each of which names the next. */
export interface PageState {
  /** The cursor of this page; undefined for the first. */
  readonly after: string | undefined;
  /** From 1. */
  readonly page: number;
  readonly forward: (next: string) => void;
  readonly back: () => void;
}

/** Remembers the way through a list's pages; `list` says which list it is, and another begins at its first page. */
export function usePageState(list: string): PageState {
  const [way, setWay] = useState<{ list: string; cursors: readonly string[] }>({ list, cursors: [] });
  const cursors = way.list === list ? way.cursors : [];
  return {
    after: cursors.at(-1),
    page: cursors.length + 1,
    forward: (next) => {
      setWay({ list, cursors: [...cursors, next] });
    },
    back: () => {
      setWay({ list, cursors: cursors.slice(0, -1) });
    },
  };
}

interface PagerProps {
  readonly place: PageState;
  /** Where the next page begins; null behind the last. */
  readonly next: string | null;
}

/** Leads to the page before and to the next. */
export function Pager({ place, next }: PagerProps) {
  if (place.page === 1 && next === null) return null;
  return (
    <nav class="pager" aria-label="Pages of the list">
      <button type="button" class="outline" disabled={place.page === 1} onClick={place.back}>
        Previous
      </button>
      <span role="status">Page {place.page}</span>
      <button
        type="button"
        class="outline"
        disabled={next === null}
        onClick={() => {
          if (next !== null) place.forward(next);
        }}
      >
        Next
      </button>
    </nav>
  );
}
