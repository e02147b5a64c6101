interface CaretProps {
  readonly text: string;
  /** In UTF-16 code units; it may be the text's end. */
  readonly position: number;
  /** What is wrong there. */
  readonly message: string;
}

/** So much of a long text is shown on each side. */
const side = 18;

/**
 * A text, or what is around a place in a long one, with a caret below that place. The caret stands behind the same text once
 * more, unseen, so that it is in its place whatever the width of the characters.
 */
export function Caret({ text, position, message }: CaretProps) {
  const before = Array.from(text.slice(0, position));
  const behind = Array.from(text.slice(position));
  const left = (before.length > side ? "…" : "") + shown(before.slice(-side));
  const right = shown(behind.slice(0, side)) + (behind.length > side ? "…" : "");
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

/** What has no width, or breaks the line, would put the caret elsewhere. */
const shown = (characters: readonly string[]): string =>
  characters.join("").replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "·");
