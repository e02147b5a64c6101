import type { Audit } from "@topicsync/lib/audit/audit";
import { RejectionError } from "@topicsync/lib/errors";
import type { BatchStore } from "@topicsync/kafka";
import { createUnknownError } from "./catalog.ts";
import type { Catalog } from "./catalog-cache.ts";
import { toDeactivationEvent } from "./deactivation.ts";
import type { InstallationKey } from "./installation.ts";
import { normalizeToken } from "./token-rules.ts";

/** A push service's report that a token is dead. */
export interface TokenReport {
  /** Undefined: every application. */
  readonly application: string | undefined;
  readonly platform: string;
  readonly token: string;
  readonly reason: string;
  /** Registrations after this time are not affected. */
  readonly reportedOn: Date;
}

/** A decoded record of the push feedback topic. */
export type DecodedReport =
  | { readonly offset: number; readonly report: TokenReport }
  | { readonly offset: number; readonly rejection: RejectionError };

/** `renewed`: registered again since the report; `inactive`: deactivated before. */
export const feedbackOutcomes = ["deactivated", "renewed", "inactive", "unknown", "rejected"] as const;

export type FeedbackOutcome = (typeof feedbackOutcomes)[number];

/** The parts of an installation that a decision depends on. */
export interface SeenInstallation extends InstallationKey {
  readonly id: string;
  readonly active: boolean;
  readonly lastSeenOn: Date;
}

/** Deactivates a token unless it was registered after `unseenSince`. */
export interface Deactivation extends InstallationKey {
  readonly id: string;
  readonly reason: string;
  readonly unseenSince: Date;
}

/**
 * Stores deactivations together with positions in the push feedback topic. Every function throws
 * UnavailableError.
 */
export interface FeedbackStore extends BatchStore<readonly Deactivation[]> {
  /** Returns the installations of these tokens on all platforms. */
  findTokens(tokens: readonly string[]): Promise<SeenInstallation[]>;
}

export interface FeedbackDecision {
  readonly writes: readonly Deactivation[];
  readonly rejections: readonly { readonly offset: number; readonly rejection: RejectionError }[];
  readonly counts: Readonly<Record<FeedbackOutcome, number>>;
}

export type FeedbackService = ReturnType<typeof createFeedbackService>;

export function createFeedbackService(store: Pick<FeedbackStore, "findTokens">, catalog: Catalog) {
  /** Returns the report with its token normalized, or a rejection. */
  async function validate(decoded: DecodedReport): Promise<DecodedReport> {
    if ("rejection" in decoded) return decoded;
    const { offset, report } = decoded;
    try {
      return { offset, report: { ...report, token: await validateToken(report) } };
    } catch (error) {
      if (error instanceof RejectionError) return { offset, rejection: error };
      throw error;
    }
  }

  /** Returns the normalized token. Accepts disabled applications and platforms. Throws a RejectionError. */
  async function validateToken(report: TokenReport): Promise<string> {
    if (report.application !== undefined && (await catalog.getApplication(report.application)) === undefined)
      throw createUnknownError("application", report.application);
    const platform = await catalog.getPlatform(report.platform);
    if (platform !== undefined) return normalizeToken(platform, report.token, "/token");
    throw createUnknownError("platform", report.platform);
  }

  return {
    /** Decides which reported tokens to deactivate. Stores nothing. Throws UnavailableError. */
    async decide(reports: readonly DecodedReport[]): Promise<FeedbackDecision> {
      const validated = await Promise.all(reports.map(validate));
      const tokens = new Set(validated.flatMap((one) => ("report" in one ? [one.report.token] : [])));
      return decideFeedback(validated, await store.findTokens([...tokens]));
    },
  };
}

/** Decides reports in their order, given the stored installations of their tokens. Pure. */
export function decideFeedback(
  reports: readonly DecodedReport[],
  stored: readonly SeenInstallation[],
): FeedbackDecision {
  const byToken = Map.groupBy(stored, ({ platform, token }) => toKey(platform, token));
  /** Deactivated by an earlier report of the batch. */
  const deactivated = new Set<SeenInstallation>();
  const deactivations: Deactivation[] = [];
  const rejections: FeedbackDecision["rejections"][number][] = [];
  const counts = { deactivated: 0, renewed: 0, inactive: 0, unknown: 0, rejected: 0 };

  function decide({ application, platform, token, reason, reportedOn }: TokenReport): FeedbackOutcome {
    const selected = (byToken.get(toKey(platform, token)) ?? []).filter(
      (one) => application === undefined || one.application === application,
    );
    const active = selected.filter((one) => one.active && !deactivated.has(one));
    const dead = active.filter(({ lastSeenOn }) => lastSeenOn <= reportedOn);
    for (const one of dead) {
      deactivated.add(one);
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
    return selected.length > 0 ? "inactive" : "unknown";
  }

  for (const decoded of reports) {
    if ("rejection" in decoded) rejections.push(decoded);
    counts["rejection" in decoded ? "rejected" : decide(decoded.report)] += 1;
  }
  return { writes: deactivations, rejections, counts };
}

const toKey = (platform: string, token: string): string => JSON.stringify([platform, token]);

/** Records deactivations in the audit log; `topic` is the Kafka topic of the reports. */
export function auditFeedback(audit: Audit, { writes }: FeedbackDecision, topic: string): void {
  if (!audit.on) return;
  const origin = { via: "channel", by: "push feedback", from: topic } as const;
  audit.recordAll(writes.map((one) => ({ event: toDeactivationEvent(one, one.reason), origin })));
}
