import { useState } from "preact/hooks";

import type { Deactivated, DeactivationBody } from "../../../../schemas/installation-deactivation.ts";
import { ask } from "../../api.ts";
import { useDoing } from "../../asked.ts";
import { Confirm } from "../../parts/confirm.tsx";

interface DeactivateProps {
  readonly ids: readonly string[];
  /** Told what was done. */
  readonly done: (said: string) => void;
  readonly cancelled: () => void;
}

/** Asks why installations are to be deactivated. */
export function Deactivate({ ids, done, cancelled }: DeactivateProps) {
  const [reason, setReason] = useState("");
  const doing = useDoing();
  return (
    <Confirm
      question={`Deactivate ${plural(ids.length)}?`}
      action="Deactivate"
      doing={doing}
      cancelled={cancelled}
      confirmed={() => {
        const body: DeactivationBody = { ids: [...ids], reason };
        doing.start(
          () => ask<Deactivated>("/api/topicsync/v1/installations/deactivate", body),
          ({ deactivated }) => {
            done(`${plural(deactivated)} deactivated.`);
          },
        );
      }}
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
    </Confirm>
  );
}

const plural = (count: number): string => `${count} installation${count === 1 ? "" : "s"}`;
