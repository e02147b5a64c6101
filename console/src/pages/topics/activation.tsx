import { useState } from "preact/hooks";

import type { TopicDetail } from "../../../../schemas/topics/view.ts";
import { api } from "../../api.ts";
import { ActionDialog } from "../../components/confirm-dialog.tsx";
import { Managed, withForce } from "./managed.tsx";
import { getTopicPath, topicsPath } from "./source.ts";

interface ActivationButtonProps {
  readonly topic: TopicDetail;
  readonly onChange: (topic: TopicDetail) => void;
}

/** Disables or enables a topic. Announced topics are controlled by their announcements instead. */
export function ActivationButton({ topic, onChange }: ActivationButtonProps) {
  const [isOpen, setIsOpen] = useState(false);
  const [isForced, setIsForced] = useState(false);
  const action = getAction(topic);
  if (action === undefined) return null;
  const { label, verb, description } = action;
  const needsForce = verb === "disable" && topic.details.set !== null;
  return (
    <>
      <button
        type="button"
        class="secondary outline"
        onClick={() => {
          setIsOpen(true);
        }}
      >
        {label}
      </button>
      {isOpen && (
        <ActionDialog
          title={`${label} ${topic.name}?`}
          confirmLabel={label}
          run={() =>
            api.post<TopicDetail>(withForce(`${topicsPath}/${getTopicPath(topic)}/${verb}`, isForced), {})
          }
          canConfirm={!needsForce || isForced}
          onDone={(changed) => {
            setIsOpen(false);
            onChange(changed);
          }}
          onCancel={() => {
            setIsOpen(false);
          }}
        >
          <p>{description}</p>
          {needsForce && <Managed details={topic.details} isForced={isForced} onForce={setIsForced} />}
        </ActionDialog>
      )}
    </>
  );
}

function getAction({ state, source }: TopicDetail) {
  if (state === "active" && source.kind === "http")
    return {
      label: "Disable",
      verb: "disable",
      description:
        "It will not match any events. It can be enabled again as long as no other topic uses its external id.",
    };
  if (state === "disabled")
    return { label: "Enable", verb: "enable", description: "It will match events again." };
  return undefined;
}
