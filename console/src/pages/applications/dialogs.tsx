import { useState } from "preact/hooks";

import { api } from "../../api.ts";
import { ActionDialog } from "../../components/confirm-dialog.tsx";
import { SelectField } from "../../components/select-field.tsx";
import { TextField } from "../../components/text-field.tsx";
import { catalogs, tokenRuleLabels, type CatalogEntry, type CatalogKind } from "./catalog.ts";

interface DialogProps {
  readonly kind: CatalogKind;
  readonly onDone: (notice: string) => void;
  readonly onCancel: () => void;
}

interface EntryDialogProps extends DialogProps {
  readonly entry: CatalogEntry;
}

const getActionPath = (kind: CatalogKind, { name }: CatalogEntry, action: string): string =>
  `${catalogs[kind].path}/${encodeURIComponent(name)}/${action}`;

export function AddDialog({ kind, onDone, onCancel }: DialogProps) {
  const { path, addLabel } = catalogs[kind];
  const [name, setName] = useState("");
  const [rule, setRule] = useState("");
  return (
    <ActionDialog
      title={addLabel}
      confirmLabel="Add"
      run={() => api.post(path, rule === "" ? { name } : { name, tokenRule: rule })}
      onDone={() => {
        onDone(`${name} was added.`);
      }}
      onCancel={onCancel}
    >
      <TextField
        label="Name"
        hint="Apps send this name with each token. Case and spaces matter. It cannot be changed later."
        required
        maxLength={256}
        pattern="\S(.*\S)?"
        title="A name without a space at either end"
        value={name}
        onChange={setName}
      />
      {kind === "platforms" && <TokenRuleField value={rule} onChange={setRule} />}
    </ActionDialog>
  );
}

export function TokenRuleDialog({ kind, entry, onDone, onCancel }: EntryDialogProps) {
  const [rule, setRule] = useState(entry.tokenRule ?? "");
  return (
    <ActionDialog
      title={`Token rule of ${entry.name}`}
      confirmLabel="Save"
      run={() => api.post(getActionPath(kind, entry, "rule"), { tokenRule: rule === "" ? null : rule })}
      onDone={() => {
        onDone(`The token rule of ${entry.name} was changed.`);
      }}
      onCancel={onCancel}
    >
      <TokenRuleField value={rule} onChange={setRule} />
    </ActionDialog>
  );
}

export function ActivationDialog({ kind, entry, onDone, onCancel }: EntryDialogProps) {
  const { name, active } = entry;
  return (
    <ActionDialog
      title={`${active ? "Disable" : "Enable"} ${name}?`}
      confirmLabel={active ? "Disable" : "Enable"}
      run={() => api.post(getActionPath(kind, entry, active ? "disable" : "enable"), {})}
      onDone={() => {
        onDone(`${name} was ${active ? "disabled" : "enabled"}.`);
      }}
      onCancel={onCancel}
    >
      <p>
        {active
          ? "Its apps can no longer register or remove tokens. Existing tokens are kept as they are."
          : "Its apps can register tokens again."}
      </p>
    </ActionDialog>
  );
}

interface TokenRuleFieldProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
}

const TokenRuleField = (props: TokenRuleFieldProps) => (
  <SelectField
    label="Token rule"
    options={tokenRuleLabels}
    hint="Applies to new registrations only."
    {...props}
  />
);
