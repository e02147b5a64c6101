import type { EgressNaming } from "@topicsync/kafka";
import type { EventLog } from "../../../consumers/event-log/event-log.ts";
import type { Overview } from "../../../schemas/overview.ts";
import type { SyncStatus } from "../../../schemas/sync-status.ts";
import type { DeadLetterChannel } from "../../../schemas/dead-letters/dead-letter.ts";
import type { DeadLetterService } from "../../dead-letters/service.ts";
import type { EventTypeService } from "../../event-types/service.ts";
import type { CatalogAdministration } from "../../installations/catalog.ts";
import type { ImportInstallations } from "../../installations/import.ts";
import type { InstallationListing } from "../../installations/listing.ts";
import type { LookUpTokens } from "../../installations/look-up.ts";
import type { InstallationService } from "../../installations/service.ts";
import type { InstallationDeactivator, InstallationReader } from "../../installations/stores.ts";
import type { ApplyChanges } from "../../plans/apply.ts";
import type { ImpactPreview } from "../../plans/impact/preview.ts";
import type { PlanReader, TopicSetStore } from "../../plans/stores.ts";
import type { BackfillStore, RequestBackfill } from "../../routing/backfill.ts";
import type { TopicDetailsStore } from "../../topics/details/store.ts";
import type { TopicHistory } from "../../topics/history.ts";
import type { TopicReader } from "../../topics/listing.ts";
import type { LiveTopicIndex } from "../../topics/live/live-topic-index.ts";
import type { TopicService } from "../../topics/service.ts";
import type { TopicUsageStore } from "../../topics/usage.ts";
import type { AuthenticateAfresh } from "../../users/authenticate.ts";
import type { UserAdministration } from "../../users/administration.ts";
import type { Erase } from "../../users/erasure.ts";
import type { KeyAdministration } from "../../users/key.ts";
import type { Namespaces } from "../../users/rights.ts";
import type { Sessions } from "../../users/session.ts";

/** The services over a database, which commands have as well. */
export interface DomainServices {
  readonly topics: TopicService;
  readonly topicReader: TopicReader;
  readonly topicHistory: TopicHistory;
  readonly topicDetails: TopicDetailsStore;
  readonly topicSetStore: TopicSetStore;
  readonly planReader: PlanReader;
  readonly applyChanges: ApplyChanges;
  readonly topicIndex: LiveTopicIndex;
  readonly topicUsage: TopicUsageStore;
  readonly backfillStore: BackfillStore;
  readonly eventTypes: EventTypeService;
  readonly installations: InstallationService;
  readonly installationListing: InstallationListing;
  readonly installationDeactivator: InstallationDeactivator;
  readonly installationReader: InstallationReader;
  readonly importInstallations: ImportInstallations;
  readonly lookUp: LookUpTokens;
  readonly users: UserAdministration;
  readonly erase: Erase;
  readonly keys: KeyAdministration;
  readonly sessions: Sessions;
  readonly applications: CatalogAdministration;
  readonly platforms: CatalogAdministration;
}

/** What the handlers of all operations work with. */
export interface OperationServices extends DomainServices {
  /** Undefined: no router is configured. */
  readonly egressNaming: EgressNaming | undefined;
  /** Undefined: no router is configured. */
  readonly eventLog: EventLog | undefined;
  /** Undefined: no router is configured. */
  readonly impact: ImpactPreview | undefined;
  /** Undefined: no router is configured. */
  readonly requestBackfill: RequestBackfill | undefined;
  /** Commands read them only if an operation needs them. */
  readonly deadLetters: Promise<DeadLetterServices>;
  readonly getSyncStatus: () => Promise<SyncStatus>;
  /** With the latest dead letters of these namespaces. */
  readonly getOverview: (namespaces: Namespaces) => Promise<Overview>;
  readonly checkReadiness: CheckReadiness;
  readonly verifyAfresh: AuthenticateAfresh;
  readonly metrics: MetricsText;
}

/** Those of the channels that are consumed. */
export type DeadLetterServices = Readonly<Partial<Record<DeadLetterChannel, DeadLetterService>>>;

/** Result of a readiness check, with the reason if it failed. */
export interface CheckResult {
  readonly ok: boolean;
  readonly reason?: string;
}

export type CheckResults = Readonly<Record<string, CheckResult>>;

/** Runs all readiness checks. Never throws. */
export type CheckReadiness = () => Promise<CheckResults>;

/** Metrics in Prometheus' text format. */
export interface MetricsText {
  readonly contentType: string;
  render(): Promise<string>;
}
