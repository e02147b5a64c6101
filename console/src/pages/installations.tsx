import { useState } from "preact/hooks";

import type { Overview } from "../../../schemas/overview.ts";
import { useQuery } from "../query.ts";
import { Page } from "../components/page.tsx";
import { Failure } from "../components/error-message.tsx";
import { counted } from "../components/format.ts";
import { Pager, usePageState } from "../components/pager.tsx";
import { Deactivate } from "./installations/deactivate.tsx";
import { Results } from "./installations/results.tsx";
import { SearchForm } from "./installations/search-form.tsx";
import { useSearch, type Search } from "./installations/search.ts";
import { Installations as Totals } from "./overview/installations.tsx";

const none: ReadonlySet<string> = new Set();

/** The registered push tokens: finding some, and deactivating them. */
export function Installations() {
  const [query, setQuery] = useState<string>();
  const place = usePageState(query ?? "");
  const search = useSearch(query, place.after);
  const totals = useQuery<Overview>("/api/topicsync/v1/overview").value?.installations;
  /** What is chosen belongs to the page that it was chosen on. */
  const [choice, setChoice] = useState({ page: "", ids: none });
  const page = `${query ?? ""} ${place.after ?? ""}`;
  const chosen = choice.page === page ? choice.ids : none;
  const [isAsking, setIsAsking] = useState(false);
  const [said, setSaid] = useState("");

  return (
    <Page name="Installations">
      <SearchForm
        totals={totals ?? []}
        search={(given) => {
          setSaid("");
          setChoice({ page: "", ids: none });
          if (given === query) search.again();
          setQuery(given);
        }}
      />
      <p role="status">{said}</p>
      {query === undefined ? (
        <p>Search for a user or the end of a token. With nothing given, all are listed.</p>
      ) : (
        <HowFar search={search} />
      )}
      {search.error !== undefined && <Failure error={search.error} again={search.goOn} />}
      {search.found.length > 0 && (
        <>
          <Results
            found={search.found}
            chosen={chosen}
            choose={(ids) => {
              setChoice({ page, ids });
            }}
          />
          <button
            type="button"
            disabled={chosen.size === 0}
            onClick={() => {
              setIsAsking(true);
            }}
          >
            Deactivate {chosen.size === 0 ? "the chosen ones" : counted(chosen.size)}
          </button>
        </>
      )}
      {query !== undefined && <Pager place={place} next={search.state === "done" ? search.next : null} />}
      {totals !== undefined && <Totals totals={totals} heading="How many there are" />}
      {isAsking && (
        <Deactivate
          ids={[...chosen]}
          cancelled={() => {
            setIsAsking(false);
          }}
          done={(text) => {
            setIsAsking(false);
            setChoice({ page: "", ids: none });
            setSaid(text);
            search.again();
          }}
        />
      )}
    </Page>
  );
}

/** How far a search has come; it can be stopped, and gone on with. */
function HowFar({ search: { found, looked, state, stop, goOn } }: { readonly search: Search }) {
  if (state === "done")
    return found.length === 0 ? <p role="status">There are no such installations.</p> : null;
  if (state !== "running" && state !== "stopped") return null;
  const isRunning = state === "running";
  return (
    <p class="beside">
      <span role="status" aria-busy={isRunning}>
        {isRunning ? "Looked" : "Stopped; looked"} at {counted(looked)} so far
      </span>
      <button type="button" class="small secondary" onClick={isRunning ? stop : goOn}>
        {isRunning ? "Stop" : "Go on"}
      </button>
    </p>
  );
}
