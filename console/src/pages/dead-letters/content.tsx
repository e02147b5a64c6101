import { useMemo, useState } from "preact/hooks";

import type { DeadLetterView } from "../../../../schemas/dead-letters.ts";
import { counted } from "../../components/format.ts";
import { toBytes, hexDump, toText, visible } from "./bytes.ts";
import { jsonLines, type JsonLine } from "./json-lines.ts";
import { Download } from "./download.tsx";
import { MarkedJson } from "./marked-json.tsx";

const maxCharacters = 20_000;
const maxDumped = 4_096;
/** Of Confluent's frame: a zero and the number of the schema. */
const frameLength = 5;

type View = "JSON" | "Text" | "Hex";

/** What the bytes are. */
interface Content {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly text: string | undefined;
  readonly lines: readonly JsonLine[] | undefined;
  /** The number of the schema in Confluent's frame, where the JSON lies within one. */
  readonly schema: number | undefined;
}

function contentOf(base64: string): Content {
  const bytes = toBytes(base64);
  const text = toText(bytes);
  const lines = text === undefined ? undefined : jsonLines(text);
  if (lines !== undefined || bytes[0] !== 0 || bytes.length <= frameLength)
    return { bytes, text, lines, schema: undefined };
  const inner = toText(bytes.subarray(frameLength));
  const framed = inner === undefined ? undefined : jsonLines(inner);
  const schema = framed && new DataView(bytes.buffer).getUint32(1);
  return { bytes, text, lines: framed, schema };
}

/** The value of a letter: as JSON with the faults in their places, as text, or in hexadecimal digits. */
export function LetterContent({ letter }: { readonly letter: DeadLetterView }) {
  const { value, omitted } = letter;
  return (
    <article aria-labelledby="content">
      <h2 id="content">Content</h2>
      {omitted !== null && <p>{omitted}</p>}
      {omitted === null && value === null && <p>None: it retires its topic.</p>}
      {value === "" && <p>Empty: 0 bytes.</p>}
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
  const content = useMemo(() => contentOf(value), [value]);
  const { bytes, text, lines, schema } = content;
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
      {view === "JSON" && lines !== undefined && <MarkedJson lines={lines} faults={details} />}
      {view === "Text" && text !== undefined && <Plain text={text} />}
      {view === "Hex" && <Dump bytes={bytes} />}
      <p>
        <small>
          {counted(bytes.length)} bytes
          {schema !== undefined && `, in Confluent's frame with the schema ${schema}`}.{" "}
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
      {shown.split("\n").map(visible).join("\n")}
      {text.length > shown.length && `\n… ${counted(text.length - shown.length)} characters more`}
    </pre>
  );
}

const Dump = ({ bytes }: { readonly bytes: Uint8Array }) => (
  <pre class="content unwrapped" tabIndex={0} role="region" aria-label="Hex">
    {hexDump(bytes, maxDumped).join("\n")}
    {bytes.length > maxDumped && `\n… ${counted(bytes.length - maxDumped)} bytes more`}
  </pre>
);
