import { useState } from "preact/hooks";

import type { Deactivated, DeactivationBody } from "../../../../schemas/installations/deactivation.ts";
import { api } from "../../api.ts";
import { ActionDialog } from "../../components/confirm-dialog.tsx";
import { TextField } from "../../components/text-field.tsx";

interface DeactivateDialogProps {
  readonly ids: readonly string[];
  readonly onDone: (notice: string) => void;
  readonly onCancel: () => void;
}

export function DeactivateDialog({ ids, onDone, onCancel }: DeactivateDialogProps) {
  const [reason, setReason] = useState("");
  return (
    <ActionDialog
      title={`Deactivate ${formatInstallations(ids.length)}?`}
      confirmLabel="Deactivate"
      run={() => {
        const body: DeactivationBody = { ids: [...ids], reason };
        return api.post<Deactivated>("/api/topicsync/v1/installations/deactivate", body);
      }}
      onDone={({ deactivated }) => {
        onDone(`${formatInstallations(deactivated)} deactivated.`);
      }}
      onCancel={onCancel}
    >
      <p>They no longer receive notifications. An app that registers its token again becomes active again.</p>
      <TextField
        label="Reason"
        hint="Stored with each installation."
        required
        maxLength={200}
        value={reason}
        onChange={setReason}
      />
    </ActionDialog>
  );
}

const formatInstallations = (count: number): string => `${count} installation${count === 1 ? "" : "s"}`;
