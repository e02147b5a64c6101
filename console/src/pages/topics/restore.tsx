import { useState } from "preact/hooks";

import type { VersionView } from "../../../../schemas/topics/versions.ts";
import type { TopicDetail } from "../../../../schemas/topics/view.ts";
import { api } from "../../api.ts";
import { ActionDialog } from "../../components/confirm-dialog.tsx";
import { DefinitionDifference } from "./difference.tsx";
import { describeEffect } from "./effect.ts";
import { Managed, withForce } from "./managed.tsx";
import { getTopicPath, topicsPath } from "./source.ts";

interface RestoreButtonProps {
  readonly version: VersionView;
  readonly topic: TopicDetail;
  readonly onRestored: (topic: TopicDetail) => void;
}

/** Stores an earlier definition as a new version, after confirmation. */
export function RestoreButton({ version, topic, onRestored }: RestoreButtonProps) {
  const [isOpen, setIsOpen] = useState(false);
  const [isForced, setIsForced] = useState(false);
  const label = `Restore version ${version.version}`;
  const effect = describeEffect(topic, version);
  const close = (): void => {
    setIsOpen(false);
  };
  return (
    <>
      <button
        type="button"
        class="small outline secondary"
        onClick={() => {
          setIsOpen(true);
        }}
      >
        {label}
      </button>
      {isOpen && (
        <ActionDialog
          title={`${label}?`}
          confirmLabel="Restore"
          run={() =>
            api.post<TopicDetail>(
              withForce(`${topicsPath}/${getTopicPath(topic)}/restore`, isForced),
              { version: version.version },
              { version: topic.version },
            )
          }
          onDone={(restored) => {
            close();
            onRestored(restored);
          }}
          canConfirm={topic.details.set === null || isForced}
          onCancel={close}
        >
          <p>
            Its definition is stored as version {topic.version + 1}
            {topic.state === "active" ? "." : ", and the topic becomes active again."}
          </p>
          <DefinitionDifference before={topic} after={version} />
          {effect !== undefined && (
            <p>
              <strong>{effect.title}.</strong> {effect.text}
            </p>
          )}
          <Managed details={topic.details} isForced={isForced} onForce={setIsForced} />
        </ActionDialog>
      )}
    </>
  );
}
