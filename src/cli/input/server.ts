type Environment = Readonly<Record<string, string | undefined>>;

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
  { TOPICSYNC_SERVER: configured }: Environment,
): string | undefined => server ?? (configured === "" ? undefined : configured);

/**
 * The `Authorization` header of requests to a server; undefined without TOPICSYNC_TOKEN, or TOPICSYNC_USER
 * and TOPICSYNC_PASSWORD. Credentials come from the environment: every user of the machine sees arguments.
 */
export function findAuthorization(environment: Environment): string | undefined {
  const { TOPICSYNC_TOKEN: token, TOPICSYNC_USER: user, TOPICSYNC_PASSWORD: password } = environment;
  if (token !== undefined) return `Bearer ${token}`;
  return user === undefined || password === undefined ? undefined : toBasic(user, password);
}

export const toBasic = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
