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

/**
 * Text fields take effect after a short delay, selections at once. Only text that is not applied yet is kept.
 */
export function ListOptionsForm({ options, onChange }: ListOptionsFormProps) {
  const [typed, setTyped] = useState<Partial<Pick<ListOptions, "search" | "namespace">>>({});

  function apply(change: Partial<ListOptions>): void {
    const { state, sort, ...others } = { ...options, ...typed, ...change };
    setTyped({});
    onChange({
      ...others,
      state: state === "active" ? "" : state,
      sort: sort === defaultSort ? "" : sort,
    });
  }

  useEffect(() => {
    if (Object.keys(typed).length === 0) return undefined;
    const timer = setTimeout(() => {
      apply({});
    }, typingDelayMs);
    return () => {
      clearTimeout(timer);
    };
  }, [typed, toQuery(options)]);

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
          value={typed.search ?? options.search}
          onInput={({ currentTarget: { value } }) => {
            setTyped((others) => ({ ...others, search: value }));
          }}
        />
      </label>
      <label>
        Namespace
        <input
          placeholder="All"
          value={typed.namespace ?? options.namespace}
          onInput={({ currentTarget: { value } }) => {
            setTyped((others) => ({ ...others, namespace: value }));
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
