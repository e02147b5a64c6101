import { createBrokerFolder, startGuardedBroker } from "./guarded-broker.ts";

/** A broker with access control. */
export interface AclBroker {
  /** Allows everything to every client. */
  readonly address: string;
  /** Requires SASL/PLAIN and allows only what the ACLs of the user allow. */
  readonly guarded: string;
}

export const aclPassword = "the same for every user";

/** Starts a broker with these users, stopped after the tests of this file. */
export async function startAclBroker(users: readonly string[]): Promise<AclBroker> {
  const { folder } = createBrokerFolder();
  const logins = users.map((user) => `user_${user}="${aclPassword}"`).join(" ");
  const { address, addresses } = await startGuardedBroker(
    folder,
    { GUARDED: { protocol: "SASL_PLAINTEXT" } },
    [
      "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
      "super.users=User:ANONYMOUS",
      "listener.name.guarded.sasl.enabled.mechanisms=PLAIN",
      `listener.name.guarded.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required ${logins};`,
    ],
  );
  return { address, guarded: addresses.GUARDED };
}
