/** A member of a consumer group, and how it is refused. */
import type { Cancel } from "@topicsync/lib/platform";
import type { Request, Response } from "../wire/messages.ts";
import { codes } from "./errors.ts";

export type Respond<T> = (response: T) => void;

export interface Member {
  readonly id: string;
  readonly clientId: string;
  sessionTimeout: number;
  rebalanceTimeout: number;
  protocols: Request<"joinGroup5">["protocols"];
  assignment: Buffer;
  onJoined: Respond<Response<"joinGroup5">> | undefined;
  onSynced: Respond<Response<"syncGroup3">> | undefined;
  cancelSession: Cancel;
}

/** What a coordinator that takes over knows of a group: how it was when it was last stable or empty. */
export interface StoredGroup {
  readonly generation: number;
  readonly protocolType: string;
  readonly leaderId: string;
  readonly members: readonly Member[];
}

export const toStored = (member: Member): Member => ({
  ...member,
  onJoined: undefined,
  onSynced: undefined,
  cancelSession: () => undefined,
});

/** Whether a member that joins again can do what it could before. */
export const keepsProtocols = (member: Member, protocols: Member["protocols"]): boolean =>
  protocols.length === member.protocols.length &&
  protocols.every(({ name, metadata }, index) => {
    const known = member.protocols[index];
    return known?.name === name && known.metadata.equals(metadata);
  });

/** The defaults of group.min.session.timeout.ms and group.max.session.timeout.ms. */
const sessionTimeoutsMs = { min: 6_000, max: 1_800_000 };

/** Why no group accepts a member. */
export function findJoinFault({
  groupId,
  sessionTimeout,
}: Pick<Request<"joinGroup5">, "groupId" | "sessionTimeout">): number | undefined {
  const { min, max } = sessionTimeoutsMs;
  if (groupId === "") return codes.invalidGroupId;
  return sessionTimeout < min || sessionTimeout > max ? codes.invalidSessionTimeout : undefined;
}

export const failJoin = (error: number, memberId = ""): Response<"joinGroup5"> => ({
  throttle: 0,
  error,
  generation: -1,
  protocol: "",
  leaderId: "",
  memberId,
  members: [],
});

export const failSync = (error: number): Response<"syncGroup3"> => ({
  throttle: 0,
  error,
  assignment: Buffer.alloc(0),
});
