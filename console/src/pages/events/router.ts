import type { SyncStatus } from "../../../../schemas/sync-status.ts";

export type RouterStatus = NonNullable<SyncStatus["router"]>;
