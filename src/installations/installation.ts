import type { InstallationView } from "../../schemas/installation-view.ts";
import type { InstallationKey } from "./stores.ts";

/** A stored installation: a token of an application on a platform, with its life so far. */
export interface Installation extends InstallationKey {
  /** The sys_id. */
  readonly id: string;
  readonly user: string;
  readonly active: boolean;
  readonly createdOn: Date;
  readonly updatedOn: Date;
  readonly lastSeenOn: Date;
  readonly deactivatedOn: Date | undefined;
  readonly deactivatedReason: string | undefined;
  /** The latest last. */
  readonly previousOwners: readonly { readonly user: string; readonly until: Date }[];
}

/** An installation as it is shown to programs. Its members stand in this order; what is not known is absent. */
export function toInstallationView(
  one: Installation,
  { fullTokens }: { readonly fullTokens: boolean },
): InstallationView & { readonly id: string } {
  const { deactivatedOn, deactivatedReason, previousOwners } = one;
  return {
    id: one.id,
    application: one.application,
    platform: one.platform,
    token: fullTokens ? one.token : abbreviateToken(one.token),
    user: one.user,
    active: one.active,
    createdOn: one.createdOn.toISOString(),
    updatedOn: one.updatedOn.toISOString(),
    lastSeenOn: one.lastSeenOn.toISOString(),
    ...(deactivatedOn === undefined ? {} : { deactivatedOn: deactivatedOn.toISOString() }),
    ...(deactivatedReason === undefined ? {} : { deactivatedReason }),
    ...(previousOwners.length === 0
      ? {}
      : { previousOwners: previousOwners.map(({ user, until }) => ({ user, until: until.toISOString() })) }),
  };
}

/** The installation that a view with its full token shows. What says why it is inactive is of no active one. */
export function fromInstallationView(view: InstallationView, newId: () => string): Installation {
  const { deactivatedOn, deactivatedReason, previousOwners = [] } = view;
  return {
    id: view.id ?? newId(),
    application: view.application,
    platform: view.platform,
    token: view.token,
    user: view.user,
    active: view.active,
    createdOn: new Date(view.createdOn),
    updatedOn: new Date(view.updatedOn),
    lastSeenOn: new Date(view.lastSeenOn),
    deactivatedOn: view.active || deactivatedOn === undefined ? undefined : new Date(deactivatedOn),
    deactivatedReason: view.active ? undefined : deactivatedReason,
    previousOwners: previousOwners.map(({ user, until }) => ({ user, until: new Date(until) })),
  };
}

const longToken = 24;

/** So much of a token that it is recognised, and so little that nobody can send to it. */
export const abbreviateToken = (token: string): string =>
  token.length >= longToken
    ? `${token.slice(0, 6).toWellFormed()}…${token.slice(-4).toWellFormed()}`
    : `${token.slice(0, Math.floor(token.length / 4)).toWellFormed()}…`;
