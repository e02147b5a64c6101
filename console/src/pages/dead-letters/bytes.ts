/** The bytes of a text in base64. */
export const toBytes = (base64: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));

/** Bytes as UTF-8; undefined when they are none. */
export function toText(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Bytes as a text that shows what they are: as UTF-8, or else in hexadecimal digits. */
export function readable(base64: string): string {
  const bytes = toBytes(base64);
  const text = toText(bytes);
  return text === undefined ? `0x${Array.from(bytes, hex).join("")}` : visible(text);
}

/** Text as it may be shown: what cannot be seen, or would turn what stands beside it around, is told by its number. */
export const visible = (text: string): string =>
  text.replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16) ?? ""}}`,
  );

const aLine = 16;

/** The first bytes as lines of a hex dump. */
export function hexDump(bytes: Uint8Array, most: number): readonly string[] {
  const lines: string[] = [];
  for (let at = 0; at < Math.min(bytes.length, most); at += aLine) {
    const part = bytes.subarray(at, Math.min(at + aLine, most));
    const digits = Array.from(part, hex).join(" ");
    const text = Array.from(part, (byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : "."));
    lines.push(`${at.toString(16).padStart(8, "0")}  ${digits.padEnd(3 * aLine)} ${text.join("")}`);
  }
  return lines;
}

const hex = (byte: number): string => byte.toString(16).padStart(2, "0");
