export interface ServerFlag {
  readonly server?: string | undefined;
}

/** The option that `runWithClient` takes. */
export const serverOption = [
  "--server <url>",
  "use this running service instead of the database; default: TOPICSYNC_SERVER",
] as const;

/** The address of the service that commands are requests to. */
export const findServer = (
  { server }: ServerFlag,
  { TOPICSYNC_SERVER: configured }: Readonly<Record<string, string | undefined>>,
): string | undefined => server ?? (configured === "" ? undefined : configured);
