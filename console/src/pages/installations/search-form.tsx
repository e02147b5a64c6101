import { useState } from "preact/hooks";

import type { InstallationCount } from "../../../../schemas/overview.ts";
import { Form } from "../../components/form.tsx";
import { SelectField } from "../../components/select-field.tsx";
import { TextField } from "../../components/text-field.tsx";

interface SearchFormProps {
  /** The applications and platforms to suggest. */
  readonly totals: readonly InstallationCount[];
  /** Called with URL query parameters. */
  readonly onSearch: (query: string) => void;
}

const emptyFields = { user: "", tokenSuffix: "", application: "", platform: "", active: "" };
/** More of a token should not appear in a URL. */
const maxTokenSuffixLength = 8;
const states = { "": "active or inactive", true: "active", false: "inactive" } as const;

export function SearchForm({ totals, onSearch }: SearchFormProps) {
  const [fields, setFields] = useState(emptyFields);
  const set = (change: Partial<typeof emptyFields>): void => {
    setFields({ ...fields, ...change });
  };
  return (
    <Form
      onSubmit={() => {
        const filled = Object.entries(fields).filter(([, value]) => value !== "");
        onSearch(new URLSearchParams(filled).toString());
      }}
    >
      <div class="grid">
        <TextField
          label="User"
          value={fields.user}
          onChange={(user) => {
            set({ user });
          }}
        />
        <TextField
          label="End of the token"
          hint={`The last 4 to ${maxTokenSuffixLength} characters. Together with a user, the search is fast.`}
          pattern=".{4,}"
          title="At least the last 4 characters"
          value={fields.tokenSuffix}
          onChange={(text) => {
            set({ tokenSuffix: text.trim().slice(-maxTokenSuffixLength) });
          }}
        />
      </div>
      <div class="grid">
        <NameField
          label="Application"
          names={totals.map(({ application }) => application)}
          value={fields.application}
          onChange={(application) => {
            set({ application });
          }}
        />
        <NameField
          label="Platform"
          names={totals.map(({ platform }) => platform)}
          value={fields.platform}
          onChange={(platform) => {
            set({ platform });
          }}
        />
        <SelectField
          label="State"
          options={states}
          value={fields.active}
          onChange={(active) => {
            set({ active });
          }}
        />
      </div>
      <div class="beside">
        <button type="submit">Search</button>
      </div>
    </Form>
  );
}

interface NameFieldProps {
  readonly label: string;
  readonly names: readonly string[];
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** A text field with suggestions. Not a select, as the names may not be known yet. */
function NameField({ names, ...field }: NameFieldProps) {
  const listId = `${field.label}-names`;
  return (
    <div>
      <TextField list={listId} {...field} />
      <datalist id={listId}>
        {[...new Set(names)].map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </div>
  );
}
