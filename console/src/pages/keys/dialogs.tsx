import { useState } from "preact/hooks";

import type { CreatedKeyView, KeyView } from "../../../../schemas/api-key.ts";
import { api } from "../../api.ts";
import { ActionDialog, ConfirmDialog } from "../../components/confirm-dialog.tsx";
import { useAction } from "../../query.ts";
import { GrantsField } from "../../components/grants-field.tsx";
import { TextField } from "../../components/text-field.tsx";

export const keysPath = "/api/topicsync/v1/keys";

interface DialogProps {
  readonly onDone: (notice: string) => void;
  readonly onCancel: () => void;
}

const dayMs = 24 * 60 * 60_000;

/** Creates a key, then shows it until the dialog is closed. */
export function CreateKeyDialog({ onDone, onCancel }: DialogProps) {
  const action = useAction();
  const [name, setName] = useState("");
  const [days, setDays] = useState("90");
  const [roles, setRoles] = useState<readonly string[]>([]);
  const [created, setCreated] = useState<CreatedKeyView>();

  function create(): void {
    const expiresOn = new Date(Date.now() + Number(days) * dayMs).toISOString();
    action.run(() => api.post<CreatedKeyView>(keysPath, { name, roles, expiresOn }), setCreated);
  }
  function close(): void {
    onDone(`The key ${name} was created.`);
  }

  const isCreated = created !== undefined;
  return (
    <ConfirmDialog
      title={isCreated ? `The key ${created.name}` : "Create an API key"}
      confirmLabel={isCreated ? "I have copied it" : "Create"}
      action={action}
      onConfirm={isCreated ? close : create}
      onCancel={isCreated ? close : onCancel}
    >
      {isCreated ? (
        <>
          <p>Copy it now: it is not shown again.</p>
          <pre class="query">{created.key}</pre>
        </>
      ) : (
        <>
          <TextField
            label="Name"
            hint="Two valid keys can share a name, so that one can replace the other."
            required
            maxLength={100}
            value={name}
            onChange={setName}
          />
          <TextField
            label="Valid for days"
            type="number"
            required
            min={1}
            max={3650}
            value={days}
            onChange={setDays}
          />
          <GrantsField selected={roles} onChange={setRoles} />
        </>
      )}
    </ConfirmDialog>
  );
}

interface DeleteKeyProps extends DialogProps {
  readonly apiKey: KeyView;
}

export function DeleteKeyDialog({ apiKey: { id, name }, onDone, onCancel }: DeleteKeyProps) {
  return (
    <ActionDialog
      title={`Delete the key ${name}?`}
      confirmLabel="Delete"
      run={() => api.delete(`${keysPath}/${id}`)}
      onDone={() => {
        onDone(`The key ${name} was deleted.`);
      }}
      onCancel={onCancel}
    >
      <p>Programs that use it are rejected within 30 seconds.</p>
    </ActionDialog>
  );
}
