import { useEffect, useState } from "preact/hooks";

import { Form } from "../../components/form.tsx";
import { SelectField } from "../../components/select-field.tsx";
import { TextField } from "../../components/text-field.tsx";

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

  function apply(change: Partial<ListOptions> = {}): void {
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
      apply();
    }, typingDelayMs);
    return () => {
      clearTimeout(timer);
    };
  }, [typed, toQuery(options)]);

  const type = (name: "search" | "namespace") => (value: string) => {
    setTyped((others) => ({ ...others, [name]: value }));
  };
  const select = (name: "source" | "state" | "sort") => (value: string) => {
    apply({ [name]: value });
  };
  const { search, namespace, source, state, sort } = { ...options, ...typed };
  return (
    <Form class="topic-choice" aria-label="Filter topics" onSubmit={apply}>
      <TextField
        label="Search"
        type="search"
        placeholder={state === "active" ? "Start of the external id or name" : "Start of the external id"}
        value={search}
        onChange={type("search")}
      />
      <TextField label="Namespace" placeholder="All" value={namespace} onChange={type("namespace")} />
      <SelectField label="Source" value={source} options={sources} onChange={select("source")} />
      <SelectField label="State" value={state} options={states} onChange={select("state")} />
      {canSort(options) && (
        <SelectField label="Order" value={sort} options={sorts} onChange={select("sort")} />
      )}
    </Form>
  );
}
