import { useState } from "preact/hooks";

import type { InstallationCount } from "../../../../schemas/overview.ts";

interface SearchFormProps {
  /** What there is, to choose from. */
  readonly totals: readonly InstallationCount[];
  /** Given the query of a URL. */
  readonly search: (query: string) => void;
}

const fields = { user: "", tokenSuffix: "", application: "", platform: "", active: "" };
/** More would be too much of a token to stand in a URL. */
const maxEnd = 8;

/** Asks which installations are meant. */
export function SearchForm({ totals, search }: SearchFormProps) {
  const [given, setGiven] = useState(fields);
  const set = (change: Partial<typeof fields>): void => {
    setGiven({ ...given, ...change });
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const chosen = Object.entries(given).filter(([, value]) => value !== "");
        search(new URLSearchParams(chosen).toString());
      }}
    >
      <div class="grid">
        <label>
          User
          <input
            spellcheck={false}
            autocomplete="off"
            value={given.user}
            onInput={(event) => {
              set({ user: event.currentTarget.value });
            }}
          />
        </label>
        <label>
          End of the token
          <input
            spellcheck={false}
            autocomplete="off"
            pattern=".{4,}"
            title="At least the last 4 characters"
            aria-describedby="end"
            value={given.tokenSuffix}
            onInput={(event) => {
              set({ tokenSuffix: event.currentTarget.value.trim().slice(-maxEnd) });
            }}
          />
          <small id="end">The last 4 to {maxEnd} characters. With a user it is found at once.</small>
        </label>
      </div>
      <div class="grid">
        <NameField
          label="Application"
          names={totals.map(({ application }) => application)}
          value={given.application}
          change={(application) => {
            set({ application });
          }}
        />
        <NameField
          label="Platform"
          names={totals.map(({ platform }) => platform)}
          value={given.platform}
          change={(platform) => {
            set({ platform });
          }}
        />
        <label>
          State
          <select
            value={given.active}
            onChange={(event) => {
              set({ active: event.currentTarget.value });
            }}
          >
            <option value="">active or inactive</option>
            <option value="true">active</option>
            <option value="false">inactive</option>
          </select>
        </label>
      </div>
      <div class="beside">
        <button type="submit">Search</button>
      </div>
    </form>
  );
}

interface NameFieldProps {
  readonly label: string;
  readonly names: readonly string[];
  readonly value: string;
  readonly change: (value: string) => void;
}

/** A name, which can be typed before it is known which there are. */
function NameField({ label, names, value, change }: NameFieldProps) {
  const list = `${label}-names`;
  return (
    <label>
      {label}
      <input
        spellcheck={false}
        autocomplete="off"
        list={list}
        value={value}
        onInput={(event) => {
          change(event.currentTarget.value);
        }}
      />
      <datalist id={list}>
        {[...new Set(names)].map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </label>
  );
}
