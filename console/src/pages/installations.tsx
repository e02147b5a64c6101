import { useState } from "preact/hooks";

import type { Overview } from "../../../schemas/overview.ts";
import { ErrorMessage } from "../components/error-message.tsx";
import { formatCount } from "../components/format.ts";
import { Page } from "../components/page.tsx";
import { Pager, usePaging } from "../components/pager.tsx";
import { useQuery } from "../query.ts";
import { useRight } from "../session.ts";
import { DeactivateDialog } from "./installations/deactivate.tsx";
import { Results } from "./installations/results.tsx";
import { SearchForm } from "./installations/search-form.tsx";
import { useSearch, type Search } from "./installations/search.ts";
import { InstallationTotals } from "./overview/installations.tsx";

const noIds: ReadonlySet<string> = new Set();
const noSelection = { page: "", ids: noIds };

export function Installations() {
  const [query, setQuery] = useState<string>();
  const paging = usePaging(query ?? "");
  const search = useSearch(query, paging.after);
  const totals = useQuery<Overview>("/api/topicsync/v1/overview").value?.installations;
  /** A selection belongs to the page that it was made on. */
  const [selection, setSelection] = useState(noSelection);
  const page = `${query ?? ""} ${paging.after ?? ""}`;
  const selectedIds = selection.page === page ? selection.ids : noIds;
  const canDeactivate = useRight("installations.write-all");
  const [isDeactivating, setIsDeactivating] = useState(false);
  const [notice, setNotice] = useState("");

  return (
    <Page name="Installations">
      <SearchForm
        totals={totals ?? []}
        onSearch={(nextQuery) => {
          setNotice("");
          setSelection(noSelection);
          if (nextQuery === query) search.restart();
          setQuery(nextQuery);
        }}
      />
      <p role="status">{notice}</p>
      {query === undefined ? (
        <p>Search by user or by the end of a token, or leave all fields empty to list everything.</p>
      ) : (
        <SearchProgress search={search} />
      )}
      {search.error !== undefined && <ErrorMessage error={search.error} retry={search.resume} />}
      {search.found.length > 0 && (
        <>
          <Results
            found={search.found}
            selectedIds={selectedIds}
            onSelect={(ids) => {
              setSelection({ page, ids });
            }}
          />
          {canDeactivate && (
            <button
              type="button"
              disabled={selectedIds.size === 0}
              onClick={() => {
                setIsDeactivating(true);
              }}
            >
              Deactivate {selectedIds.size === 0 ? "selected" : formatCount(selectedIds.size)}
            </button>
          )}
        </>
      )}
      {query !== undefined && <Pager paging={paging} next={search.state === "done" ? search.next : null} />}
      {totals !== undefined && <InstallationTotals totals={totals} heading="Totals" />}
      {isDeactivating && (
        <DeactivateDialog
          ids={[...selectedIds]}
          onCancel={() => {
            setIsDeactivating(false);
          }}
          onDone={(text) => {
            setIsDeactivating(false);
            setSelection(noSelection);
            setNotice(text);
            search.restart();
          }}
        />
      )}
    </Page>
  );
}

/** The progress of a long search, which can be stopped and resumed. */
function SearchProgress({ search: { found, scanned, state, stop, resume } }: { readonly search: Search }) {
  if (state === "done") return found.length === 0 ? <p role="status">No installations match.</p> : null;
  if (state !== "running" && state !== "stopped") return null;
  const isRunning = state === "running";
  return (
    <p class="beside">
      <span role="status" aria-busy={isRunning}>
        {isRunning ? "Searched" : "Stopped after"} {formatCount(scanned)} installations
      </span>
      <button type="button" class="small secondary" onClick={isRunning ? stop : resume}>
        {isRunning ? "Stop" : "Continue"}
      </button>
    </p>
  );
}
