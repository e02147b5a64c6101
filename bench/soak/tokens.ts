import { randomBytes } from "node:crypto";

/**
 * Tokens that carry their number, so that millions of acknowledgements can be kept by number: 64 hexadecimal
 * digits, scattered at the front, since an index cares for the order.
 */
export interface NumberedTokens {
  readonly token: (number: number) => string;
  /** NaN for a token that is none of these. */
  readonly number: (token: string) => number;
}

const numberDigits = 12;

export const newSeed = (): string => randomBytes(22).toString("hex");

/** The tokens of one seed. */
export function numberedTokens(seed: string): NumberedTokens {
  return {
    token(number) {
      // Fibonacci hashing: neighbours lie far from each other.
      const scattered = Math.imul(number, 0x9e3779b1) >>> 0;
      return hex(scattered, 8) + seed + hex(number, numberDigits);
    },
    number(token) {
      if (!token.startsWith(seed, 8)) return NaN;
      return Number.parseInt(token.slice(-numberDigits), 16);
    },
  };
}

const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, "0");
