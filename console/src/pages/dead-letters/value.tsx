import { useMemo, useState } from "preact/hooks";

import type { DeadLetterView } from "../../../../schemas/dead-letters/dead-letter.ts";
import { formatCount } from "../../components/format.ts";
import { decodeBase64, formatHexDump, decodeUtf8, escapeInvisible } from "./bytes.ts";
import { formatJsonLines, type JsonLine } from "./json-lines.ts";
import { AnnotatedJson } from "./annotated-json.tsx";

const maxCharacters = 20_000;
const maxDumpedBytes = 4_096;
/** Confluent's frame: a zero byte and the schema id. */
const frameBytes = 5;

type View = "JSON" | "Text" | "Hex";

interface Content {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly text: string | undefined;
  readonly lines: readonly JsonLine[] | undefined;
  /** The schema id, if the JSON is in Confluent's frame. */
  readonly schemaId: number | undefined;
}

function parseContent(base64: string): Content {
  const bytes = decodeBase64(base64);
  const text = decodeUtf8(bytes);
  const lines = text === undefined ? undefined : formatJsonLines(text);
  if (lines !== undefined || bytes[0] !== 0 || bytes.length <= frameBytes)
    return { bytes, text, lines, schemaId: undefined };
  const inner = decodeUtf8(bytes.subarray(frameBytes));
  const framed = inner === undefined ? undefined : formatJsonLines(inner);
  const schemaId = framed && new DataView(bytes.buffer).getUint32(1);
  return { bytes, text, lines: framed, schemaId };
}

/** The value as JSON with its faults, as text or as a hex dump. */
export function DeadLetterValue({ letter }: { readonly letter: DeadLetterView }) {
  const { value, omitted, contentHidden } = letter;
  return (
    <article aria-labelledby="content">
      <h2 id="content">Value</h2>
      {omitted !== null && <p>{omitted}</p>}
      {contentHidden && (
        <p>
          Key, value and headers require the right <code>dead-letters.read-content</code>, those of events
          also <code>admin</code>.
        </p>
      )}
      {omitted === null && !contentHidden && value === null && <p>None (tombstone).</p>}
      {value === "" && <p>Empty.</p>}
      {value !== null && value !== "" && <Views value={value} letter={letter} />}
    </article>
  );
}

function Views({
  value,
  letter: { id, details },
}: {
  readonly value: string;
  readonly letter: DeadLetterView;
}) {
  const content = useMemo(() => parseContent(value), [value]);
  const { bytes, text, lines, schemaId } = content;
  const views: readonly View[] = [
    ...(lines === undefined ? [] : (["JSON"] as const)),
    ...(text === undefined ? [] : (["Text"] as const)),
    "Hex",
  ];
  const [chosen, setChosen] = useState<View>();
  const view = chosen ?? views[0] ?? "Hex";
  return (
    <>
      <div class="views" role="group" aria-label="Show as">
        {views.map((one) => (
          <button
            key={one}
            type="button"
            class={one === view ? "small" : "small outline"}
            aria-pressed={one === view}
            onClick={() => {
              setChosen(one);
            }}
          >
            {one}
          </button>
        ))}
      </div>
      {view === "JSON" && lines !== undefined && <AnnotatedJson lines={lines} faults={details} />}
      {view === "Text" && text !== undefined && <Plain text={text} />}
      {view === "Hex" && <Dump bytes={bytes} />}
      <p>
        <small>
          {formatCount(bytes.length)} bytes
          {schemaId !== undefined && `, framed by Confluent with schema ${schemaId}`}.{" "}
          <Download bytes={bytes} name={`${id}.bin`} />
        </small>
      </p>
    </>
  );
}

function Plain({ text }: { readonly text: string }) {
  const shown = text.slice(0, maxCharacters);
  return (
    <pre class="content" tabIndex={0} role="region" aria-label="Text">
      {shown.split("\n").map(escapeInvisible).join("\n")}
      {text.length > shown.length && `\n… ${formatCount(text.length - shown.length)} more characters`}
    </pre>
  );
}

const Dump = ({ bytes }: { readonly bytes: Uint8Array }) => (
  <pre class="content unwrapped" tabIndex={0} role="region" aria-label="Hex">
    {formatHexDump(bytes, maxDumpedBytes).join("\n")}
    {bytes.length > maxDumpedBytes && `\n… ${formatCount(bytes.length - maxDumpedBytes)} more bytes`}
  </pre>
);

const Download = ({ bytes, name }: { readonly bytes: Uint8Array<ArrayBuffer>; readonly name: string }) => (
  <button
    type="button"
    class="small outline"
    onClick={() => {
      const url = URL.createObjectURL(new Blob([bytes]));
      const link = document.createElement("a");
      link.href = url;
      link.download = name;
      link.click();
      URL.revokeObjectURL(url);
    }}
  >
    Download
  </button>
);
