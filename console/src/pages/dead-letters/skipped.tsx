import type { ReplayResult } from "../../../../schemas/dead-letters.ts";
import { counted } from "../../parts/numbers.ts";

const mostShown = 10;

/** What is not sent, and why. */
export function Skipped({ skipped }: Pick<ReplayResult, "skipped">) {
  if (skipped.length === 0) return null;
  return (
    <>
      <p>{skipped.length === 1 ? "1 is not sent:" : `${counted(skipped.length)} are not sent:`}</p>
      <ul class="skipped">
        {skipped.slice(0, mostShown).map(({ id, reason }) => (
          <li key={id}>
            <code>{id}</code>: {reason}
          </li>
        ))}
        {skipped.length > mostShown && <li>and {counted(skipped.length - mostShown)} more</li>}
      </ul>
    </>
  );
}
