export const decodeBase64 = (base64: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));

/** Decodes UTF-8; undefined if the bytes are not valid. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Formats bytes as UTF-8 text, or else as hexadecimal digits. */
export function formatBytes(base64: string): string {
  const bytes = decodeBase64(base64);
  const text = decodeUtf8(bytes);
  return text === undefined ? `0x${Array.from(bytes, hex).join("")}` : escapeInvisible(text);
}

/** Replaces invisible and direction-changing characters by their code points. */
export const escapeInvisible = (text: string): string =>
  text.replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16) ?? ""}}`,
  );

const bytesPerLine = 16;

/** Formats the first bytes as lines of a hex dump. */
export function formatHexDump(bytes: Uint8Array, maxBytes: number): readonly string[] {
  const lines: string[] = [];
  for (let at = 0; at < Math.min(bytes.length, maxBytes); at += bytesPerLine) {
    const part = bytes.subarray(at, Math.min(at + bytesPerLine, maxBytes));
    const digits = Array.from(part, hex).join(" ");
    const text = Array.from(part, (byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : "."));
    lines.push(`${at.toString(16).padStart(8, "0")}  ${digits.padEnd(3 * bytesPerLine)} ${text.join("")}`);
  }
  return lines;
}

const hex = (byte: number): string => byte.toString(16).padStart(2, "0");
