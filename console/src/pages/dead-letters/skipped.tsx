import type { ReplayResult } from "../../../../schemas/dead-letters.ts";
import { counted } from "../../components/format.ts";

const maxShown = 10;

/** What is not sent, and why. */
export function Skipped({ skipped }: Pick<ReplayResult, "skipped">) {
  if (skipped.length === 0) return null;
  return (
    <>
      <p>{skipped.length === 1 ? "1 is not sent:" : `${counted(skipped.length)} are not sent:`}</p>
      <ul class="skipped">
        {skipped.slice(0, maxShown).map(({ id, message }) => (
          <li key={id}>
            <code>{id}</code>: {message}
          </li>
        ))}
        {skipped.length > maxShown && <li>and {counted(skipped.length - maxShown)} more</li>}
      </ul>
    </>
  );
}
