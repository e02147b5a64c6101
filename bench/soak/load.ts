import type { RequestTemplate } from "../http/request.ts";

/** The input of the clients of `bench soak`. */
export interface SoakOrder {
  readonly url: string;
  readonly template: RequestTemplate;
  readonly connections: number;
  readonly seconds: number;
  /** Registrations a second; absent sends as many as are answered. */
  readonly rate?: number;
  /** The number of tokens, used in turn. */
  readonly tokens: number;
  readonly seed: string;
  /** Gets when each token's last acknowledged registration was sent. */
  readonly sentFile: string;
}

/** What the clients saw; times are milliseconds, from when a registration was due. */
export interface SoakResult {
  readonly acknowledged: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  /** How attempts ended, by status; "broken" without an answer. */
  readonly ends: Readonly<Record<string, number>>;
  /** Sent repeatedly and never acknowledged, or due and never sent. */
  readonly unacknowledged: number;
}
