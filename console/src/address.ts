import { useLocation, useSearch } from "wouter-preact";

/** Where one is beneath a page. */
export interface Address {
  /** What is looked at, as it is named in the address; undefined for the page itself. */
  readonly item: string | undefined;
  readonly query: URLSearchParams;
  /** Goes on with another query at the same place, without a step to go back to. */
  readonly ask: (query: Readonly<Record<string, string>>) => void;
}

/** The address beneath a page. It is read from the window: the router decodes some of it on its way, and what is left is ambiguous. */
export function useAddress(page: string): Address {
  const [, go] = useLocation();
  useSearch();
  const [, item] = location.pathname.slice(`/console${page}`.length).split("/");
  return {
    item: item === undefined || item === "" ? undefined : decoded(item),
    query: new URLSearchParams(location.search),
    ask(query) {
      const given = Object.entries(query).filter(([, value]) => value !== "");
      const text = new URLSearchParams(given).toString();
      go(`${page}${text === "" ? "" : `?${text}`}`, { replace: true });
    },
  };
}

/** What is no encoding stands for itself. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
