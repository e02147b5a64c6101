import { useEffect, useState } from "preact/hooks";

/** Which topics are shown, and in which order; "" where nothing is chosen. */
export interface Chosen {
  readonly state: string;
  readonly search: string;
  readonly sort: string;
  readonly namespace: string;
  readonly source: string;
}

/** What is chosen by an address. */
export const readChoice = (query: URLSearchParams): Chosen => ({
  state: query.get("state") ?? "active",
  search: query.get("search") ?? "",
  sort: query.get("sort") ?? "-changed",
  namespace: query.get("namespace") ?? "",
  source: query.get("source") ?? "",
});

const hasSort = ({ state, search }: Chosen): boolean => state === "active" && search === "";

/** The service's query for a choice. */
export function toQuery(chosen: Chosen): string {
  const { sort, ...others } = chosen;
  const given = Object.entries({ ...others, ...(hasSort(chosen) && { sort }) });
  return new URLSearchParams(given.filter(([, value]) => value !== "")).toString();
}

export const isNarrowed = ({ search, namespace, source }: Chosen): boolean =>
  [search, namespace, source].some((one) => one !== "");

const sorts = {
  "-changed": "Changed last",
  changed: "Changed first",
  name: "Name",
  "-name": "Name, from Z to A",
  externalId: "External id",
  "-externalId": "External id, from Z to A",
} as const;
const states = { active: "Active", retired: "Retired by the channel", disabled: "Disabled" } as const;
const sources = { "": "Anywhere", announcement: "Announced", http: "Made by hand" } as const;

interface ChoiceProps {
  readonly choice: Chosen;
  readonly chosen: (query: Readonly<Record<string, string>>) => void;
}

const waitMs = 250;

/** Searches, sorts and narrows; what is typed counts after a moment. */
export function Choice({ choice, chosen }: ChoiceProps) {
  const [typed, setTyped] = useState({ search: choice.search, namespace: choice.namespace });

  // Links lead to other searches, while this is on the page.
  useEffect(() => {
    setTyped({ search: choice.search, namespace: choice.namespace });
  }, [choice.search, choice.namespace]);

  function choose(change: Partial<Chosen>): void {
    const { state, sort, ...others } = { ...choice, ...typed, ...change };
    chosen({
      ...others,
      state: state === "active" ? "" : state,
      sort: sort === "-changed" ? "" : sort,
    });
  }

  useEffect(() => {
    if (typed.search === choice.search && typed.namespace === choice.namespace) return undefined;
    const timer = setTimeout(() => {
      choose({});
    }, waitMs);
    return () => {
      clearTimeout(timer);
    };
  }, [typed.search, typed.namespace]);

  return (
    <form
      class="topic-choice"
      aria-label="Which topics"
      onSubmit={(event) => {
        event.preventDefault();
        choose({});
      }}
    >
      <label>
        Search
        <input
          type="search"
          placeholder={choice.state === "active" ? "Beginning of id or name" : "Beginning of an external id"}
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
      <Select
        label="From"
        value={choice.source}
        options={sources}
        changed={(source) => {
          choose({ source });
        }}
      />
      <Select
        label="Topics"
        value={choice.state}
        options={states}
        changed={(state) => {
          choose({ state });
        }}
      />
      {hasSort(choice) && (
        <Select
          label="Order"
          value={choice.sort}
          options={sorts}
          changed={(sort) => {
            choose({ sort });
          }}
        />
      )}
    </form>
  );
}

interface SelectProps {
  readonly label: string;
  readonly value: string;
  readonly options: Readonly<Record<string, string>>;
  readonly changed: (value: string) => void;
}

const Select = ({ label, value, options, changed }: SelectProps) => (
  <label>
    {label}
    <select
      value={value}
      onChange={({ currentTarget }) => {
        changed(currentTarget.value);
      }}
    >
      {Object.entries(options).map(([one, name]) => (
        <option key={one} value={one}>
          {name}
        </option>
      ))}
    </select>
  </label>
);
