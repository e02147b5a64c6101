import { useState } from "preact/hooks";

import type { Draft } from "./form/draft.ts";

interface AnnouncementProps {
  readonly definition: Draft;
  readonly kafkaTopic: string;
}

/** How to change a topic of the channel: the line to announce. */
export function Announcement({ definition, kafkaTopic }: AnnouncementProps) {
  const [notice, setNotice] = useState("");
  const line = JSON.stringify(definition);
  return (
    <article aria-labelledby="announcement">
      <h2 id="announcement">Announce the change</h2>
      <p>
        This topic belongs to the announcements channel, and only an announcement can change it. Save this
        line in a file, and run <code>topicsync announce FILE --wait</code>; or send it to the Kafka topic{" "}
        <code>{kafkaTopic}</code>, with the external id as its key.
      </p>
      <pre class="query" aria-label="Announcement" tabIndex={0}>
        {line}
      </pre>
      <div class="topic-actions">
        <button
          type="button"
          class="secondary"
          onClick={() => {
            navigator.clipboard.writeText(line).then(
              () => {
                setNotice("Copied.");
              },
              () => {
                setNotice("The browser does not allow copying. Select the line instead.");
              },
            );
          }}
        >
          Copy
        </button>
        <span role="status">{notice}</span>
      </div>
    </article>
  );
}
