import { newId } from "@topicsync/lib/sys-id";
import type { InstallationView } from "../../schemas/installations/view.ts";
import type { DeviceAttributes } from "./attributes.ts";

/** An application on a platform. */
export interface Scope {
  readonly application: string;
  readonly platform: string;
}

/** Identifies an installation: one token of one application on one platform. */
export interface InstallationKey extends Scope {
  readonly token: string;
}

/** Returns a text that is equal for equal keys. */
export const toKeyText = ({ application, platform, token }: InstallationKey): string =>
  JSON.stringify([token, application, platform]);

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
  /** Oldest first. */
  readonly previousOwners: readonly { readonly user: string; readonly until: Date }[];
  /** Undefined: none. */
  readonly attributes: DeviceAttributes | undefined;
}

/** The JSON of an installation, for HTTP and the command line. The order of members is part of the format. */
export function toInstallationView(
  one: Installation,
  { fullTokens }: { readonly fullTokens: boolean },
): InstallationView & { readonly id: string } {
  const { deactivatedOn, deactivatedReason, previousOwners, attributes } = one;
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
    ...(attributes === undefined ? {} : { attributes }),
  };
}

/** Converts a view with its full token. An active installation keeps no reason of a former deactivation. */
export function fromInstallationView(view: InstallationView): Installation {
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
    attributes: view.attributes,
  };
}

const minLongTokenLength = 24;

/** Shortens a token: enough to recognize it, not enough to send to it. */
export const abbreviateToken = (token: string): string =>
  token.length >= minLongTokenLength
    ? `${token.slice(0, 6).toWellFormed()}…${token.slice(-4).toWellFormed()}`
    : `${token.slice(0, Math.floor(token.length / 4)).toWellFormed()}…`;
