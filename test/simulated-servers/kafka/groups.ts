/** The members of one consumer group, by the classic protocol (Kafka's GroupCoordinator, before KIP-848). */
import type { Cancel } from "@topicsync/lib/platform";
import type { Clock, Host } from "../clock.ts";
import type { Request, Response } from "../wire/messages.ts";
import { codes } from "./errors.ts";
import {
  failJoin,
  failSync,
  keepsProtocols,
  toStored,
  type Member,
  type Respond,
  type StoredGroup,
} from "./members.ts";

export interface GroupOptions {
  readonly clock: Clock;
  readonly id: string;
  /** The host of the coordinator. */
  readonly getHost: () => Host;
  readonly createMemberId: (clientId: string) => string;
  readonly trace: (getText: () => string) => void;
}

const initialRebalanceDelayMs = 50;

/** As DescribeGroups names them. */
const stateNames = {
  empty: "Empty",
  preparing: "PreparingRebalance",
  completing: "CompletingRebalance",
  stable: "Stable",
} as const;

export class Group {
  readonly #options: GroupOptions;
  #state: "empty" | "preparing" | "completing" | "stable" = "empty";
  #isInitial = false;
  #generation = 0;
  /** That of its first member. */
  #protocolType = "";
  #leaderId = "";
  readonly #members = new Map<string, Member>();
  /** Ids that were given to members that have not joined yet. */
  readonly #expected = new Set<string>();
  #cancelRebalance: Cancel = () => undefined;
  #isKnown = false;
  #stored: StoredGroup = { generation: 0, protocolType: "", leaderId: "", members: [] };

  constructor(options: GroupOptions) {
    this.#options = options;
  }

  get isEmpty(): boolean {
    return this.#members.size === 0;
  }

  /** Whether there ever was somebody who wanted to join. */
  get isKnown(): boolean {
    return this.#isKnown;
  }

  join(body: Request<"joinGroup5">, clientId: string, respond: Respond<Response<"joinGroup5">>): void {
    const { memberId, sessionTimeout, rebalanceTimeout, protocols } = body;
    this.#isKnown = true;
    if (!this.#supports(body)) {
      respond(failJoin(codes.inconsistentGroupProtocol, memberId));
      return;
    }
    if (memberId === "") {
      const id = this.#options.createMemberId(clientId);
      this.#expected.add(id);
      respond(failJoin(codes.memberIdRequired, id));
      return;
    }
    let member = this.#members.get(memberId);
    if (member === undefined && !this.#expected.delete(memberId)) {
      respond(failJoin(codes.unknownMember, memberId));
      return;
    }
    if (member !== undefined && this.#keepsGeneration(member, protocols)) {
      this.#extend(member);
      respond(this.#toJoined(member));
      return;
    }
    member ??= {
      id: memberId,
      clientId,
      sessionTimeout,
      rebalanceTimeout,
      protocols,
      assignment: Buffer.alloc(0),
      onJoined: undefined,
      onSynced: undefined,
      cancelSession: () => undefined,
    };
    this.#members.set(memberId, member);
    this.#protocolType = body.protocolType;
    member.onJoined?.(failJoin(codes.unknownMember, memberId));
    Object.assign(member, { sessionTimeout, rebalanceTimeout, protocols, onJoined: respond });
    this.#extend(member);
    this.rebalance();
    this.#completeIfAllJoined();
  }

  sync(body: Request<"syncGroup3">, respond: Respond<Response<"syncGroup3">>): void {
    const { error, member } = this.#find(body);
    if (member === undefined || error !== codes.none) {
      respond(failSync(error));
      return;
    }
    if (this.#state === "preparing") {
      respond(failSync(codes.rebalanceInProgress));
      return;
    }
    this.#extend(member);
    if (this.#state === "stable") {
      respond({ throttle: 0, error: codes.none, assignment: member.assignment });
      return;
    }
    member.onSynced = respond;
    if (member.id !== this.#leaderId) return;
    this.#state = "stable";
    const assigned = new Map(body.assignments.map(({ memberId, assignment }) => [memberId, assignment]));
    for (const one of this.#members.values())
      one.assignment = Buffer.from(assigned.get(one.id) ?? Buffer.alloc(0));
    this.#store();
    for (const one of this.#members.values()) {
      const { onSynced } = one;
      one.onSynced = undefined;
      onSynced?.({ throttle: 0, error: codes.none, assignment: one.assignment });
    }
  }

  heartbeat(body: Request<"heartbeat3">): number {
    const { error, member } = this.#find(body);
    if (member === undefined || error !== codes.none) return error;
    this.#extend(member);
    return this.#state === "preparing" ? codes.rebalanceInProgress : codes.none;
  }

  leave(memberId: string): number {
    const member = this.#members.get(memberId);
    if (member === undefined) return codes.unknownMember;
    this.#remove(member);
    return codes.none;
  }

  /** Whether a member may commit offsets now: an error code. */
  checkCommit(body: { readonly memberId: string; readonly generation: number }): number {
    if (body.generation < 0 && this.isEmpty) return codes.none;
    const { error, member } = this.#find(body);
    if (member === undefined || error !== codes.none) return error;
    this.#extend(member);
    return this.#state === "completing" ? codes.rebalanceInProgress : codes.none;
  }

  describe(): Omit<Response<"describeGroups2">["groups"][number], "error" | "groupId"> {
    const isStable = this.#state === "stable";
    const members = [...this.#members.values()].map(({ id, clientId, protocols, assignment }) => ({
      memberId: id,
      clientId,
      clientHost: "/simulated",
      metadata: (isStable ? protocols[0]?.metadata : undefined) ?? Buffer.alloc(0),
      assignment,
    }));
    const protocol = isStable ? ([...this.#members.values()][0]?.protocols[0]?.name ?? "") : "";
    return { state: stateNames[this.#state], protocolType: this.#protocolType, protocol, members };
  }

  /** Makes all members join again. */
  rebalance(): void {
    if (this.#state === "preparing" || this.isEmpty) return;
    for (const member of this.#members.values()) {
      const { onSynced } = member;
      member.onSynced = undefined;
      onSynced?.(failSync(codes.rebalanceInProgress));
    }
    this.#isInitial = this.#state === "empty";
    this.#state = "preparing";
    const timeouts = [...this.#members.values()].map(({ rebalanceTimeout }) => rebalanceTimeout);
    this.#cancelRebalance();
    this.#cancelRebalance = this.#options.clock.schedule(
      this.#options.getHost(),
      this.#isInitial ? initialRebalanceDelayMs : Math.max(0, ...timeouts),
      () => {
        if (this.#state === "preparing") this.#complete();
      },
    );
  }

  /** Another broker takes the group over. */
  reload(): void {
    this.#cancelRebalance();
    this.#expected.clear();
    for (const member of [...this.#members.values()]) {
      member.onJoined?.(failJoin(codes.notCoordinator, member.id));
      member.onSynced?.(failSync(codes.notCoordinator));
      this.#forget(member);
    }
    const { generation, protocolType, leaderId, members } = this.#stored;
    this.#generation = generation;
    this.#protocolType = protocolType;
    this.#leaderId = leaderId;
    for (const stored of members) {
      const member = { ...stored };
      this.#members.set(member.id, member);
      this.#extend(member);
    }
    this.#state = this.isEmpty ? "empty" : "stable";
  }

  #store(): void {
    this.#stored = {
      generation: this.#generation,
      protocolType: this.#protocolType,
      leaderId: this.#leaderId,
      members: [...this.#members.values()].map(toStored),
    };
  }

  #find({ memberId, generation }: { readonly memberId: string; readonly generation: number }): {
    readonly error: number;
    readonly member: Member | undefined;
  } {
    const member = this.#members.get(memberId);
    if (member === undefined) return { error: codes.unknownMember, member };
    return { error: generation === this.#generation ? codes.none : codes.illegalGeneration, member };
  }

  /** Whether a member that joins again gets the present generation, without a rebalance. */
  #keepsGeneration(member: Member, protocols: Member["protocols"]): boolean {
    if (this.#state !== "completing" && !(this.#state === "stable" && member.id !== this.#leaderId))
      return false;
    return keepsProtocols(member, protocols);
  }

  #extend(member: Member): void {
    member.cancelSession();
    member.cancelSession = this.#options.clock.schedule(
      this.#options.getHost(),
      member.sessionTimeout,
      () => {
        if (this.#members.get(member.id) !== member) return;
        // A member that waits for a response does not have to send heartbeats.
        if (member.onJoined !== undefined || member.onSynced !== undefined) this.#extend(member);
        else {
          this.#options.trace(() => `${member.id} expires`);
          this.#remove(member);
        }
      },
    );
  }

  #forget(member: Member): void {
    member.cancelSession();
    this.#members.delete(member.id);
  }

  #remove(member: Member): void {
    this.#forget(member);
    member.onJoined?.(failJoin(codes.unknownMember, member.id));
    if (this.isEmpty) {
      this.#cancelRebalance();
      this.#state = "empty";
      this.#generation += 1;
      this.#store();
      return;
    }
    this.rebalance();
    this.#completeIfAllJoined();
  }

  #completeIfAllJoined(): void {
    if (this.#state !== "preparing" || this.#isInitial) return;
    if ([...this.#members.values()].every(({ onJoined }) => onJoined !== undefined)) this.#complete();
  }

  #complete(): void {
    this.#cancelRebalance();
    for (const member of [...this.#members.values()]) if (member.onJoined === undefined) this.#forget(member);
    this.#generation += 1;
    const [first] = this.#members.keys();
    if (first === undefined) {
      this.#state = "empty";
      this.#store();
      return;
    }
    this.#state = "completing";
    if (!this.#members.has(this.#leaderId)) this.#leaderId = first;
    this.#options.trace(
      () => `generation ${this.#generation} of ${this.#options.id}: ${this.#members.size} members`,
    );
    for (const member of this.#members.values()) {
      const { onJoined } = member;
      member.onJoined = undefined;
      this.#extend(member);
      onJoined?.(this.#toJoined(member));
    }
  }

  /** Whether a member could assign partitions to all others, and they to it. */
  #supports({ protocolType, protocols }: Request<"joinGroup5">): boolean {
    if (this.isEmpty) return true;
    const members = [...this.#members.values()];
    const isCommon = (name: string): boolean =>
      members.every((member) => member.protocols.some((one) => one.name === name));
    return protocolType === this.#protocolType && protocols.some(({ name }) => isCommon(name));
  }

  #toJoined({ id, protocols }: Member): Response<"joinGroup5"> {
    const members = id === this.#leaderId ? [...this.#members.values()] : [];
    return {
      throttle: 0,
      error: codes.none,
      generation: this.#generation,
      protocol: protocols[0]?.name ?? "",
      leaderId: this.#leaderId,
      memberId: id,
      members: members.map((member) => ({
        memberId: member.id,
        groupInstanceId: null,
        metadata: member.protocols[0]?.metadata ?? Buffer.alloc(0),
      })),
    };
  }
}
