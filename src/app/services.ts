import type { Config } from "../config.ts";
import { createCatalog, type Catalog } from "../installations/catalog-cache.ts";
import {
  createCatalogAdministration,
  type CatalogAdministration,
  type CatalogStore,
} from "../installations/catalog.ts";
import { shareDeactivations } from "../installations/deactivation.ts";
import { GroupCommit, type GroupCommitOptions } from "../installations/group-commit.ts";
import { createInstallationImporter, type InstallationImporter } from "../installations/import.ts";
import { createInstallationListing, type InstallationListing } from "../installations/listing.ts";
import { createInstallationService, type InstallationService } from "../installations/service.ts";
import type { InstallationDeactivator, InstallationReader } from "../installations/stores.ts";
import type { Lifecycle } from "../lib/lifecycle.ts";
import type { Logger } from "../lib/logger.ts";
import { newId } from "../lib/sys-id.ts";
import { LiveTopicIndex } from "../matching/live-topic-index.ts";
import { createSessions, type Sessions, type SessionStore } from "../sessions/session.ts";
import { createCatalogStore } from "../storage/catalog.ts";
import type { Database } from "../storage/database.ts";
import { createInstallationDeactivator } from "../storage/installation-deactivation.ts";
import { createInstallationImportStore } from "../storage/installation-import.ts";
import { createInstallationReader } from "../storage/installation-reader.ts";
import { createInstallationStore } from "../storage/installations.ts";
import { createSessionStore } from "../storage/sessions.ts";
import { createTopicFeed } from "../storage/topic-feed.ts";
import { createTopicReader } from "../storage/topic-reader.ts";
import { createTopicStore } from "../storage/topics.ts";
import { createUserStore } from "../storage/users.ts";
import type { TopicReader } from "../topics/listing.ts";
import { createTopicService, type TopicService, type TopicServiceOptions } from "../topics/service.ts";
import type { TopicStore } from "../topics/stores.ts";
import { createUserAdministration, type UserAdministration } from "../users/administration.ts";
import { createHashQueue } from "../users/hash-queue.ts";
import { hashPassword } from "../users/password.ts";
import type { UserStore } from "../users/user.ts";

export interface ServicesOptions {
  readonly config: Pick<Config, "kafka" | "signIn">;
  readonly database: Database;
  readonly lifecycle: Lifecycle;
  readonly log: Logger;
  /** Called with what the topic service has written. */
  readonly onTopicsChanged?: TopicServiceOptions["changed"];
  /** Called with each bulk write of registrations and removals. */
  readonly onRegistrationsWritten?: GroupCommitOptions["onWritten"];
}

/**
 * The stores and services over a database: the one place that creates them, for the service and for the
 * commands. Each is created when it is first used.
 */
export class Services {
  readonly #options: ServicesOptions;
  readonly #database: Database;

  #topicStore?: TopicStore;
  #topicReader?: TopicReader;
  #topics?: TopicService;
  #topicIndex?: LiveTopicIndex;

  #catalogStore?: CatalogStore;
  #catalog?: Catalog;
  #applications?: CatalogAdministration;
  #platforms?: CatalogAdministration;

  #installationReader?: InstallationReader;
  #installationDeactivator?: InstallationDeactivator;
  #registrations?: GroupCommit;
  #installations?: InstallationService;
  #installationListing?: InstallationListing;
  #installationImporter?: InstallationImporter;

  #userStore?: UserStore;
  #sessionStore?: SessionStore;
  #users?: UserAdministration;
  #sessions?: Sessions;

  constructor(options: ServicesOptions) {
    this.#options = options;
    this.#database = options.database;
  }

  get topicStore(): TopicStore {
    return (this.#topicStore ??= createTopicStore(this.#database, this.#options.log));
  }

  get topicReader(): TopicReader {
    return (this.#topicReader ??= createTopicReader(this.#database));
  }

  get topics(): TopicService {
    const { onTopicsChanged: changed } = this.#options;
    return (this.#topics ??= createTopicService(this.topicStore, changed && { changed }));
  }

  get topicIndex(): LiveTopicIndex {
    return (this.#topicIndex ??= this.#createTopicIndex());
  }

  get catalogStore(): CatalogStore {
    return (this.#catalogStore ??= createCatalogStore(this.#database, newId));
  }

  get catalog(): Catalog {
    return (this.#catalog ??= createCatalog(this.catalogStore));
  }

  get applications(): CatalogAdministration {
    return (this.#applications ??= createCatalogAdministration(
      "application",
      this.catalogStore.applications,
    ));
  }

  get platforms(): CatalogAdministration {
    return (this.#platforms ??= createCatalogAdministration("platform", this.catalogStore.platforms));
  }

  get installationReader(): InstallationReader {
    return (this.#installationReader ??= createInstallationReader(this.#database));
  }

  get installationDeactivator(): InstallationDeactivator {
    return (this.#installationDeactivator ??= createInstallationDeactivator(this.#database));
  }

  /** The group commit of registrations and removals. */
  get registrations(): GroupCommit {
    const { onRegistrationsWritten: onWritten } = this.#options;
    return (this.#registrations ??= new GroupCommit(
      createInstallationStore(this.#database, newId),
      onWritten && { onWritten },
    ));
  }

  get installations(): InstallationService {
    return (this.#installations ??= createInstallationService(
      {
        submit: this.registrations.submit,
        deactivateAll: shareDeactivations(this.installationDeactivator.deactivateAll),
      },
      this.catalog,
    ));
  }

  get installationListing(): InstallationListing {
    return (this.#installationListing ??= createInstallationListing(
      this.installationReader,
      this.catalogStore,
    ));
  }

  get installationImporter(): InstallationImporter {
    return (this.#installationImporter ??= createInstallationImporter(
      createInstallationImportStore(this.#database),
      this.catalog,
      newId,
    ));
  }

  get userStore(): UserStore {
    return (this.#userStore ??= createUserStore(this.#database, newId));
  }

  get sessionStore(): SessionStore {
    return (this.#sessionStore ??= createSessionStore(this.#database));
  }

  get users(): UserAdministration {
    return (this.#users ??= this.#createUserAdministration());
  }

  get sessions(): Sessions {
    return (this.#sessions ??= createSessions({
      store: this.sessionStore,
      users: this.userStore,
      issuer: this.#options.config.signIn?.issuer,
    }));
  }

  #createTopicIndex(): LiveTopicIndex {
    const { config, lifecycle, log } = this.#options;
    const feed = createTopicFeed(this.#database, log);
    // The router names egress topics after namespaces; nobody else asks for them.
    const keepsNamespaces = config.kafka.router?.egressTopic.includes("{namespace}") === true;
    const index = new LiveTopicIndex(feed, log.child({ component: "topic-index" }), { keepsNamespaces });
    lifecycle.onStop("topic index", () => index.close());
    return index;
  }

  #createUserAdministration(): UserAdministration {
    // A queue of its own: strangers can fill that of the logins.
    const queue = createHashQueue({ concurrency: 1 });
    return createUserAdministration({
      users: this.userStore,
      sessions: this.sessionStore,
      hash: (password) => queue.run("first", () => hashPassword(password)),
    });
  }
}
