import { useState } from "preact/hooks";

import type { Deactivated, DeactivationBody } from "../../../../schemas/installation-deactivation.ts";
import { ask } from "../../api.ts";
import { ConfirmedWork } from "../../components/confirm-dialog.tsx";

interface DeactivateProps {
  readonly ids: readonly string[];
  /** Told what was done. */
  readonly done: (said: string) => void;
  readonly cancelled: () => void;
}

/** Asks why installations are to be deactivated. */
export function Deactivate({ ids, done, cancelled }: DeactivateProps) {
  const [reason, setReason] = useState("");
  return (
    <ConfirmedWork
      question={`Deactivate ${plural(ids.length)}?`}
      action="Deactivate"
      work={() => {
        const body: DeactivationBody = { ids: [...ids], reason };
        return ask<Deactivated>("/api/topicsync/v1/installations/deactivate", body);
      }}
      done={({ deactivated }) => {
        done(`${plural(deactivated)} deactivated.`);
      }}
      cancelled={cancelled}
    >
      <p>No notifications go there any more. When an app registers its token again, it is active again.</p>
      <label>
        Reason
        <input
          required
          maxLength={200}
          value={reason}
          onInput={(event) => {
            setReason(event.currentTarget.value);
          }}
        />
        <small>It is kept with each of them.</small>
      </label>
    </ConfirmedWork>
  );
}

const plural = (count: number): string => `${count} installation${count === 1 ? "" : "s"}`;
