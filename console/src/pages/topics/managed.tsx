import { Link } from "wouter-preact";

import type { TopicDetailsView } from "../../../../schemas/topics/details.ts";
import { getSetPath } from "../sets/paths.ts";

/** A path of an operation, for a topic that is changed although a set owns it. */
export const withForce = (path: string, isForced: boolean): string =>
  isForced ? `${path}?force=true` : path;

interface ManagedProps {
  readonly details: TopicDetailsView;
  readonly isForced: boolean;
  readonly onForce: (isForced: boolean) => void;
}

/** Says which file is to be changed instead of the topic. Nothing for a topic without a set. */
export function Managed({ details: { set, path }, isForced, onForce }: ManagedProps) {
  if (set === null) return null;
  return (
    <article aria-labelledby="managed">
      <h2 id="managed">Managed from a file</h2>
      <p>
        This topic belongs to the set <Link href={getSetPath(set)}>{set}</Link>. Change it in{" "}
        {path === null ? "its file" : <code>{path}</code>}, and apply the set.
      </p>
      <div class="roles">
        <label>
          <input
            type="checkbox"
            checked={isForced}
            onChange={({ currentTarget: { checked } }) => {
              onForce(checked);
            }}
          />
          Change it here anyway
          <small>It then differs from its file, and the next apply may change it back.</small>
        </label>
      </div>
    </article>
  );
}
