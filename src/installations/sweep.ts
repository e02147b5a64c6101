import type { InstallationFilter, InstallationListing } from "./listing.ts";

/** Deactivates installations by their ids. */
export interface InstallationSweeper {
  /**
   * Deactivates those that are active and still not seen since; gives how many. Throws UnavailableError.
   */
  deactivate(
    ids: readonly string[],
    how: { readonly unseenSince: Date; readonly reason: string },
  ): Promise<number>;
}

export interface Sweep {
  readonly filter: Pick<InstallationFilter, "application" | "platform">;
  readonly unseenSince: Date;
  /** Undefined: they are only counted. */
  readonly deactivate: ((ids: readonly string[]) => Promise<number>) | undefined;
  /** Ends it between two stretches. */
  readonly abort: AbortSignal;
  /** Told how many records were looked at. */
  readonly progress: (looked: number) => void;
}

/** What a sweep found, and how much of that it deactivated: what was seen meanwhile is not touched. */
export interface Swept {
  readonly found: number;
  readonly deactivated: number;
}

/**
 * Goes through all installations and deactivates the active ones that were not seen for long. Ended at any time, it is
 * gone on with by sweeping again: what is inactive is not found any more. Throws UnavailableError.
 */
export async function sweep(
  listing: Pick<InstallationListing, "all">,
  { filter, unseenSince, deactivate, abort, progress }: Sweep,
): Promise<Swept> {
  let [found, deactivated, looked] = [0, 0, 0];
  for await (const stretch of listing.all({ ...filter, active: true, unseenSince })) {
    const ids = stretch.installations.map(({ id }) => id);
    found += ids.length;
    if (deactivate !== undefined && ids.length > 0) deactivated += await deactivate(ids);
    looked += stretch.looked;
    progress(looked);
    if (abort.aborted) break;
  }
  return { found, deactivated };
}
