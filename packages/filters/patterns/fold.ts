/**
 * Returns a text that two texts share exactly if they are equal by simple case folding, which maps single
 * characters (Unicode, CaseFolding.txt, status C and S). Neither `toLowerCase` nor `toUpperCase` does:
 * both also map one character to several, and the first maps a sigma by its neighbours.
 */
export function foldCase(text: string): string {
  if (isAscii.test(text)) return text.toLowerCase();
  let folded = "";
  for (const character of text) folded += foldCharacter(character);
  return folded;
}

const isAscii = /^[\0-\x7f]*$/;

/** Their upper or lower case is another letter's, which they do not fold to. */
const unfolded: ReadonlySet<string> = new Set(["\u0131", "\u0130"]);

function foldCharacter(character: string): string {
  if (unfolded.has(character)) return character;
  const upper = mapSingly(character, character.toUpperCase());
  return mapSingly(upper, upper.toLowerCase());
}

/** A mapping to several characters is not simple. */
const mapSingly = (character: string, mapped: string): string =>
  mapped.length === 1 || mapped.length === String.fromCodePoint(mapped.codePointAt(0) ?? 0).length
    ? mapped
    : character;
