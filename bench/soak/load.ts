import { randomBytes } from "node:crypto";

import type { RequestTemplate } from "../http/request.ts";

/** The input of the clients. */
export interface SoakLoad {
  readonly url: string;
  readonly template: RequestTemplate;
  readonly connections: number;
  readonly seconds: number;
  /** Registrations per second; undefined sends the next after each response. */
  readonly rate?: number;
  /** The number of tokens, registered in turn. */
  readonly tokens: number;
  readonly seed: string;
  /** Receives when each token's last acknowledged registration was sent. */
  readonly sentFile: string;
}

/** The output of the clients; times are in ms since the registration was due. */
export interface SoakResult {
  readonly acknowledged: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  /** The number of attempts by status; "broken" without a response. */
  readonly outcomes: Readonly<Record<string, number>>;
  /** Due, but never acknowledged. */
  readonly unacknowledged: number;
}

/**
 * Tokens of 64 hexadecimal digits that contain their number, so that acknowledgements can be recorded by
 * number. Their prefixes are scattered, so that index inserts are not sequential.
 */
export interface NumberedTokens {
  readonly token: (number: number) => string;
  /** NaN for any other token. */
  readonly number: (token: string) => number;
}

const numberDigits = 12;

export const createSeed = (): string => randomBytes(22).toString("hex");

export function createNumberedTokens(seed: string): NumberedTokens {
  return {
    token(number) {
      // Fibonacci hashing.
      const scattered = Math.imul(number, 0x9e3779b1) >>> 0;
      return toHex(scattered, 8) + seed + toHex(number, numberDigits);
    },
    number(token) {
      if (!token.startsWith(seed, 8)) return NaN;
      return Number.parseInt(token.slice(-numberDigits), 16);
    },
  };
}

const toHex = (value: number, digits: number): string => value.toString(16).padStart(digits, "0");
