/** A member of a consumer group, and how it is refused. */
import type { Cancel } from "../../../src/lib/platform.ts";
import type { Request, Response } from "../wire/messages.ts";

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
