import { tokenDigest, type Audit } from "../lib/audit.ts";
import { RefusalError } from "../lib/errors.ts";
import type { BatchStore } from "../sync/positions.ts";
import type { Catalog } from "./catalog-cache.ts";
import type { InstallationKey } from "./installation.ts";
import { storedToken } from "./token-rules.ts";

/** A push service's word that a token is dead. */
export interface TokenReport {
  /** Undefined: in every application. */
  readonly application: string | undefined;
  readonly platform: string;
  readonly token: string;
  readonly reason: string;
  /** Whatever was registered later is not meant. */
  readonly reportedOn: Date;
}

/** A record of the push feedback topic, read. */
export type ReadReport =
  | { readonly offset: number; readonly report: TokenReport }
  | { readonly offset: number; readonly refusal: RefusalError };

/** What became of reports. `renewed`: registered again since; `inactive`: it was already. */
export const feedbackOutcomes = ["deactivated", "renewed", "inactive", "unknown", "refused"] as const;

export type FeedbackOutcome = (typeof feedbackOutcomes)[number];

/** An installation, as far as a report concerns it. */
export interface SeenInstallation extends InstallationKey {
  readonly id: string;
  readonly active: boolean;
  readonly lastSeenOn: Date;
}

/** A token to deactivate, unless it was seen after `unseenSince`. */
export interface Deactivation extends InstallationKey {
  readonly id: string;
  readonly reason: string;
  readonly unseenSince: Date;
}

/** Where installations and the positions of the push feedback are kept. Every function throws UnavailableError. */
export interface FeedbackStore extends BatchStore<readonly Deactivation[]> {
  /** The installations of these tokens, on every platform. */
  findTokens(tokens: readonly string[]): Promise<SeenInstallation[]>;
}

/** What a stretch of reports comes to. */
export interface FeedbackDecision {
  readonly deactivations: readonly Deactivation[];
  readonly refusals: readonly { readonly offset: number; readonly refusal: RefusalError }[];
  readonly counts: Readonly<Record<FeedbackOutcome, number>>;
}

/** Decides which tokens that push services reported dead are deactivated. */
export interface FeedbackService {
  /** Decides a batch; nothing is stored. Throws UnavailableError. */
  decide(reports: readonly ReadReport[]): Promise<FeedbackDecision>;
}

/** Makes the feedback service. */
export function createFeedbackService(
  store: Pick<FeedbackStore, "findTokens">,
  catalog: Catalog,
): FeedbackService {
  /** The report, or why it cannot be taken. */
  async function checked(read: ReadReport): Promise<ReadReport> {
    if ("refusal" in read) return read;
    const { offset, report } = read;
    try {
      return { offset, report: { ...report, token: await tokenIn(report) } };
    } catch (error) {
      if (error instanceof RefusalError) return { offset, refusal: error };
      throw error;
    }
  }

  /** As it is stored. Disabled names are fine: less is sent to them. Throws a RefusalError. */
  async function tokenIn(report: TokenReport): Promise<string> {
    if (report.application !== undefined && (await catalog.application(report.application)) === undefined) {
      const message = `There is no push application named "${report.application}".`;
      throw new RefusalError("UNKNOWN_APPLICATION", message, [
        { path: "/application", message: "is not the name of a push application" },
      ]);
    }
    const platform = await catalog.platform(report.platform);
    if (platform !== undefined) return storedToken(platform, report.token, "/token");
    throw new RefusalError("UNKNOWN_PLATFORM", `There is no push platform named "${report.platform}".`, [
      { path: "/platform", message: "is not the name of a push platform" },
    ]);
  }

  return {
    async decide(reports) {
      const checkedReports = await Promise.all(reports.map(checked));
      const tokens = new Set(checkedReports.flatMap((read) => ("report" in read ? [read.report.token] : [])));
      return decideFeedback(checkedReports, await store.findTokens([...tokens]));
    },
  };
}

/** Decides reports in their order, given what is stored of their tokens. Pure. */
export function decideFeedback(
  reports: readonly ReadReport[],
  stored: readonly SeenInstallation[],
): FeedbackDecision {
  const byToken = Map.groupBy(stored, ({ platform, token }) => nameOf(platform, token));
  /** Deactivated by a report before. */
  const gone = new Set<SeenInstallation>();
  const deactivations: Deactivation[] = [];
  const refusals: FeedbackDecision["refusals"][number][] = [];
  const counts = { deactivated: 0, renewed: 0, inactive: 0, unknown: 0, refused: 0 };

  function outcomeOf({ application, platform, token, reason, reportedOn }: TokenReport): FeedbackOutcome {
    const meant = (byToken.get(nameOf(platform, token)) ?? []).filter(
      (one) => application === undefined || one.application === application,
    );
    const active = meant.filter((one) => one.active && !gone.has(one));
    const dead = active.filter(({ lastSeenOn }) => lastSeenOn <= reportedOn);
    for (const one of dead) {
      gone.add(one);
      deactivations.push({
        id: one.id,
        application: one.application,
        platform,
        token,
        reason,
        unseenSince: reportedOn,
      });
    }
    if (dead.length > 0) return "deactivated";
    if (active.length > 0) return "renewed";
    return meant.length > 0 ? "inactive" : "unknown";
  }

  for (const read of reports) {
    if ("refusal" in read) refusals.push(read);
    counts["refusal" in read ? "refused" : outcomeOf(read.report)] += 1;
  }
  return { deactivations, refusals, counts };
}

const nameOf = (platform: string, token: string): string => JSON.stringify([platform, token]);

/** Records the tokens that push services reported dead; `topic` is the Kafka topic of the reports. */
export function auditFeedback(audit: Audit, { deactivations }: FeedbackDecision, topic: string): void {
  if (!audit.on) return;
  const origin = { via: "channel", by: "push feedback", from: topic } as const;
  for (const { application, platform, token, reason } of deactivations) {
    const digest = tokenDigest(token);
    audit.record(
      { action: "installation.deactivated", application, platform, tokenDigest: digest, reason },
      origin,
    );
  }
}
