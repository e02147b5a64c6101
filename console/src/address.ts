import { useLocation, useSearch } from "wouter-preact";

import { consolePath } from "./base.ts";

/** The part of the address below a page. */
interface Address {
  /** The item in the path, decoded; undefined for the page itself. */
  readonly item: string | undefined;
  readonly query: URLSearchParams;
  /** Replaces the query, without a new history entry. Empty values are left out. */
  readonly setQuery: (query: Readonly<Record<string, string>>) => void;
}

/** Reads the address from the window: the router decodes parts of it, which makes it ambiguous. */
export function useAddress(page: string): Address {
  const [, navigate] = useLocation();
  useSearch();
  const [, item] = location.pathname.slice(`${consolePath}${page}`.length).split("/");
  return {
    item: item === undefined || item === "" ? undefined : decode(item),
    query: new URLSearchParams(location.search),
    setQuery(query) {
      const given = Object.entries(query).filter(([, value]) => value !== "");
      const text = new URLSearchParams(given).toString();
      navigate(`${page}${text === "" ? "" : `?${text}`}`, { replace: true });
    },
  };
}

/** Returns text that is not a valid encoding as it is. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
