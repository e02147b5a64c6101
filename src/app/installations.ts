import type { AppOptions } from "../../http/app.ts";
import { createCatalog, type Catalog } from "../installations/catalog-cache.ts";
import { createCatalogAdministration, type CatalogStore } from "../installations/catalog.ts";
import { shareDeactivations } from "../installations/deactivation.ts";
import { createGroupCommit } from "../installations/group-commit.ts";
import { createInstallationListing } from "../installations/listing.ts";
import { createInstallationService } from "../installations/service.ts";
import { newId } from "../lib/sys-id.ts";
import { createCatalogStore } from "../storage/catalog.ts";
import type { Database } from "../storage/database.ts";
import { createInstallationDeactivator } from "../storage/installation-deactivation.ts";
import { createInstallationReader } from "../storage/installation-reader.ts";
import { createInstallationStore } from "../storage/installations.ts";
import type { Metrics, MetricsSources } from "./metrics.ts";

export interface Installations extends Pick<AppOptions, "installations" | "applications" | "platforms"> {
  readonly catalogStore: CatalogStore;
  readonly catalog: Catalog;
  readonly reader: ReturnType<typeof createInstallationReader>;
  /** Pending registrations and removals. */
  readonly getRegistrations: MetricsSources["getRegistrations"];
}

/** Wires the installations and the catalog of applications and platforms. */
export function createInstallations(database: Database, metrics: Metrics): Installations {
  const catalogStore = createCatalogStore(database, newId);
  const catalog = createCatalog(catalogStore);
  const groupCommit = createGroupCommit(createInstallationStore(database, newId), {
    onWritten: metrics.recordRegistrations,
  });
  const reader = createInstallationReader(database);
  const deactivator = createInstallationDeactivator(database);
  const deactivateAll = shareDeactivations(deactivator.deactivateAll);
  return {
    catalogStore,
    catalog,
    getRegistrations: groupCommit.getStatus,
    reader,
    installations: {
      service: createInstallationService({ submit: groupCommit.submit, deactivateAll }, catalog),
      listing: createInstallationListing(reader, catalogStore),
      deactivator,
    },
    applications: createCatalogAdministration("application", catalogStore.applications),
    platforms: createCatalogAdministration("platform", catalogStore.platforms),
  };
}
