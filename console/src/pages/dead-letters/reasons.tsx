import { Link } from "wouter-preact";

import type { DeadLetterList } from "../../../../schemas/dead-letters.ts";
import { counted } from "../../components/format.ts";
import { pageOfChoice, type LetterChoice } from "./addresses.ts";

interface ReasonsProps extends Pick<DeadLetterList, "counts" | "total"> {
  readonly choice: LetterChoice;
}

/** Why letters were refused, and how many for each reason; each leads to its own. */
export function Reasons({ counts, total, choice }: ReasonsProps) {
  const codes = Object.entries(counts).toSorted(([, one], [, other]) => other - one);
  return (
    <nav class="reasons" aria-label="Reasons">
      <ul>
        <Reason name="All" count={total} code={undefined} choice={choice} />
        {codes.map(([code, count]) => (
          <Reason key={code} name={code} count={count} code={code} choice={choice} />
        ))}
      </ul>
    </nav>
  );
}

interface ReasonProps {
  readonly name: string;
  readonly count: number;
  readonly code: string | undefined;
  readonly choice: LetterChoice;
}

const Reason = ({ name, count, code, choice }: ReasonProps) => (
  <li>
    <Link
      href={pageOfChoice({ ...choice, code })}
      class={choice.code === code ? "here" : ""}
      aria-current={choice.code === code ? "true" : undefined}
    >
      {name} <span class="count">{counted(count)}</span>
    </Link>
  </li>
);
