interface CaretProps {
  readonly text: string;
  /** In UTF-16 code units; may be the end of the text. */
  readonly position: number;
  readonly message: string;
}

const charactersPerSide = 18;

/**
 * Shows the text around a position with a caret below it. The text left of the position is repeated invisibly
 * in front of the caret, so that it aligns with characters of any width.
 */
export function Caret({ text, position, message }: CaretProps) {
  const before = Array.from(text.slice(0, position));
  const after = Array.from(text.slice(position));
  const left = (before.length > charactersPerSide ? "…" : "") + toVisible(before.slice(-charactersPerSide));
  const right = toVisible(after.slice(0, charactersPerSide)) + (after.length > charactersPerSide ? "…" : "");
  return (
    <>
      <pre class="caret">
        {left}
        {right}
        {"\n"}
        <span aria-hidden="true">
          <span class="unseen">{left}</span>^
        </span>
      </pre>
      {message} (character {position + 1})
    </>
  );
}

/** Replaces characters without width or with line breaks, which would misplace the caret. */
const toVisible = (characters: readonly string[]): string =>
  characters.join("").replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "·");
