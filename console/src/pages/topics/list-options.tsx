import { useEffect, useState } from "preact/hooks";

import { Form } from "../../components/form.tsx";
import { SelectField } from "../../components/select-field.tsx";
import { TextField } from "../../components/text-field.tsx";

/** The filter and order of the list; "" for no filter. */
export interface ListOptions {
  readonly state: string;
  readonly q: string;
  readonly owner: string;
  readonly tag: string;
  readonly lifecycle: string;
  readonly set: string;
  readonly sort: string;
  readonly namespace: string;
  readonly source: string;
}

const defaultSort = "name";

export const readListOptions = (query: URLSearchParams): ListOptions => ({
  state: query.get("state") ?? "active",
  q: query.get("q") ?? "",
  owner: query.get("owner") ?? "",
  tag: query.get("tag") ?? "",
  lifecycle: query.get("lifecycle") ?? "",
  set: query.get("set") ?? "",
  sort: query.get("sort") ?? defaultSort,
  namespace: query.get("namespace") ?? "",
  source: query.get("source") ?? "",
});

/** The conditions on details. */
const getConditions = ({ owner, tag, lifecycle, set }: ListOptions): readonly string[] => [
  owner,
  tag,
  lifecycle,
  set,
];

const canSort = (options: ListOptions): boolean =>
  options.state === "active" && [options.q, ...getConditions(options)].every((one) => one === "");

/** Returns the query parameters for the service. */
export function toQuery(options: ListOptions): string {
  const { sort, q, ...others } = options;
  // Words have letters or digits; an id need not have any.
  const search = /[\p{L}\p{N}]/u.test(q) ? { q } : { search: q };
  const query = { ...others, ...search, ...(canSort(options) && { sort }) };
  return new URLSearchParams(Object.entries(query).filter(([, value]) => value !== "")).toString();
}

export const isFiltered = (options: ListOptions): boolean =>
  [options.q, options.namespace, options.source, ...getConditions(options)].some((one) => one !== "");

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
const lifecycles = { "": "All", active: "Active", deprecated: "Deprecated" } as const;

interface ListOptionsFormProps {
  readonly options: ListOptions;
  readonly onChange: (query: Readonly<Record<string, string>>) => void;
}

const typingDelayMs = 250;
type Typed = "q" | "owner" | "tag" | "set" | "namespace";

/**
 * Text fields take effect after a short delay, selections at once. Only text that is not applied yet is kept.
 */
export function ListOptionsForm({ options, onChange }: ListOptionsFormProps) {
  const [typed, setTyped] = useState<Partial<Pick<ListOptions, Typed>>>({});

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

  const type = (name: Typed) => (value: string) => {
    setTyped((others) => ({ ...others, [name]: value }));
  };
  const select = (name: "source" | "state" | "sort" | "lifecycle") => (value: string) => {
    apply({ [name]: value });
  };
  const { q, owner, tag, set, namespace, lifecycle, source, state, sort } = { ...options, ...typed };
  const hasMore = [set, namespace, lifecycle, source].some((one) => one !== "") || sort !== defaultSort;
  return (
    <Form aria-label="Filter topics" onSubmit={apply}>
      <div class="topic-choice">
        <TextField
          label="Search"
          type="search"
          placeholder="Words, or the start of an id or name"
          value={q}
          onChange={type("q")}
        />
        <TextField label="Owner" placeholder="All" value={owner} onChange={type("owner")} />
        <TextField label="Tag" placeholder="All" value={tag} onChange={type("tag")} />
        <SelectField label="State" value={state} options={states} onChange={select("state")} />
      </div>
      <details open={hasMore}>
        <summary>More filters, and the order</summary>
        <div class="topic-choice">
          <TextField label="Namespace" placeholder="All" value={namespace} onChange={type("namespace")} />
          <TextField label="Set" placeholder="All" value={set} onChange={type("set")} />
          <SelectField
            label="Lifecycle"
            value={lifecycle}
            options={lifecycles}
            onChange={select("lifecycle")}
          />
          <SelectField label="Source" value={source} options={sources} onChange={select("source")} />
          {canSort(options) && (
            <SelectField label="Order" value={sort} options={sorts} onChange={select("sort")} />
          )}
        </div>
      </details>
    </Form>
  );
}
