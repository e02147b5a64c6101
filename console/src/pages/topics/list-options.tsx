import { useEffect, useState } from "preact/hooks";

import { SelectField } from "../../components/select-field.tsx";

/** The filter and order of the list; "" for no filter. */
export interface ListOptions {
  readonly state: string;
  readonly search: string;
  readonly sort: string;
  readonly namespace: string;
  readonly source: string;
}

const defaultSort = "name";

export const readListOptions = (query: URLSearchParams): ListOptions => ({
  state: query.get("state") ?? "active",
  search: query.get("search") ?? "",
  sort: query.get("sort") ?? defaultSort,
  namespace: query.get("namespace") ?? "",
  source: query.get("source") ?? "",
});

const canSort = ({ state, search }: ListOptions): boolean => state === "active" && search === "";

/** Returns the query parameters for the service. */
export function toQuery(options: ListOptions): string {
  const { sort, ...others } = options;
  const given = Object.entries(canSort(options) ? { ...others, sort } : others);
  return new URLSearchParams(given.filter(([, value]) => value !== "")).toString();
}

export const isFiltered = ({ search, namespace, source }: ListOptions): boolean =>
  [search, namespace, source].some((one) => one !== "");

const sorts = {
  name: "Name",
  "-name": "Name, descending",
  externalId: "External id",
  "-externalId": "External id, descending",
  "-changed": "Newest changes first",
  changed: "Oldest changes first",
} as const;
const states = { active: "Active", retired: "Retired", disabled: "Disabled" } as const;
const sources = { "": "All", announcement: "Announced", http: "Created by hand" } as const;

interface ListOptionsFormProps {
  readonly options: ListOptions;
  readonly onChange: (query: Readonly<Record<string, string>>) => void;
}

const typingDelayMs = 250;

/** Text fields take effect after a short delay, selections at once. */
export function ListOptionsForm({ options, onChange }: ListOptionsFormProps) {
  const [typed, setTyped] = useState({ search: options.search, namespace: options.namespace });

  // A link on the page can change the options.
  useEffect(() => {
    setTyped({ search: options.search, namespace: options.namespace });
  }, [options.search, options.namespace]);

  function apply(change: Partial<ListOptions>): void {
    const { state, sort, ...others } = { ...options, ...typed, ...change };
    onChange({
      ...others,
      state: state === "active" ? "" : state,
      sort: sort === defaultSort ? "" : sort,
    });
  }

  useEffect(() => {
    if (typed.search === options.search && typed.namespace === options.namespace) return undefined;
    const timer = setTimeout(() => {
      apply({});
    }, typingDelayMs);
    return () => {
      clearTimeout(timer);
    };
  }, [typed.search, typed.namespace]);

  return (
    <form
      class="topic-choice"
      aria-label="Filter topics"
      onSubmit={(event) => {
        event.preventDefault();
        apply({});
      }}
    >
      <label>
        Search
        <input
          type="search"
          placeholder={
            options.state === "active" ? "Start of the external id or name" : "Start of the external id"
          }
          value={typed.search}
          onInput={({ currentTarget: { value } }) => {
            setTyped({ ...typed, search: value });
          }}
        />
      </label>
      <label>
        Namespace
        <input
          placeholder="All"
          value={typed.namespace}
          onInput={({ currentTarget: { value } }) => {
            setTyped({ ...typed, namespace: value });
          }}
        />
      </label>
      <SelectField
        label="Source"
        value={options.source}
        options={sources}
        onChange={(source) => {
          apply({ source });
        }}
      />
      <SelectField
        label="State"
        value={options.state}
        options={states}
        onChange={(state) => {
          apply({ state });
        }}
      />
      {canSort(options) && (
        <SelectField
          label="Order"
          value={options.sort}
          options={sorts}
          onChange={(sort) => {
            apply({ sort });
          }}
        />
      )}
    </form>
  );
}
