import { useState } from "preact/hooks";

import type { TopicDetail } from "../../../../schemas/topic-view.ts";
import { ask } from "../../api.ts";
import { ConfirmedWork } from "../../components/confirm-dialog.tsx";
import { getTopicPath } from "./source.ts";

interface SwitchProps {
  readonly topic: TopicDetail;
  readonly changed: (topic: TopicDetail) => void;
}

/** Takes a topic out of use that did not come from the channel, or brings it back. */
export function Switch({ topic, changed }: SwitchProps) {
  const [asking, setAsking] = useState(false);
  const act = actOn(topic);
  if (act === undefined) return null;
  const { action, verb, meaning } = act;
  return (
    <>
      <button
        type="button"
        class="secondary outline"
        onClick={() => {
          setAsking(true);
        }}
      >
        {action}
      </button>
      {asking && (
        <ConfirmedWork
          question={`${action} ${topic.name}?`}
          action={action}
          work={() => ask<TopicDetail>(`/api/topicsync/v1/topics/${getTopicPath(topic)}/${verb}`, {})}
          done={(now) => {
            setAsking(false);
            changed(now);
          }}
          cancelled={() => {
            setAsking(false);
          }}
        >
          <p>{meaning}</p>
        </ConfirmedWork>
      )}
    </>
  );
}

function actOn({ state, source }: TopicDetail) {
  if (state === "active" && source.kind === "http")
    return {
      action: "Disable",
      verb: "disable",
      meaning:
        "No event will belong to it. It can be enabled again, as long as nobody takes its external id.",
    };
  if (state === "disabled")
    return { action: "Enable", verb: "enable", meaning: "Events will belong to it again." };
  return undefined;
}
