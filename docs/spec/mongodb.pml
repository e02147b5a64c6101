/*
 * MongoDB, as far as the protocol depends on it: the position's record, the stored topic, transactions of the
 * readers, requests that arrive late, and elections. Included by partition-protocol.pml.
 */

#ifndef ELECTIONS
#define ELECTIONS 0
#endif

/* A process that starts again gets a new number, which is also that of its session. */
#define PROCESSES (2 + CRASHES)
#define NOBODY PROCESSES

#ifdef CLAIM_ID
/* Every claim changes the position's record, and the compare-and-set includes the claim. */
#define CLAIM_CHANGES_RECORD (true)
#define IS_CURRENT(its) (its.isCurrent)
#else
/* $addToSet changes nothing if the session is already there. */
#define CLAIM_CHANGES_RECORD (!registered[process[me]])
#define IS_CURRENT(its) (true)
#endif

#ifdef NO_WRITE_CONFLICTS
#define HAS_CONFLICT (!tx[me].open || lock != FREE)
#else
#define HAS_CONFLICT (!tx[me].open || lock != FREE || tx[me].outdated)
#endif

typedef Transaction {
  bool open;
  bool outdated; /* The position's record was changed after the snapshot. */
  byte position; /* In the snapshot. */
  byte topic     /* With the transaction's own writes. */
}

/* Whether a claim is the last one, and whether it is the last one that an election would leave. */
typedef Claim {
  bool isCurrent, isSafe
}

/* A request whose response nobody awaits any more. It may still be executed. */
typedef Request {
  bool pending;
  byte process, from, to, topic, decision;
  Claim claim
}

byte position, topic;
byte movedBy = NOBODY;
bool registered[PROCESSES]; /* The sessions in the position's record. */
Transaction tx[2];          /* Of the readers. */
Claim claim[2];             /* Of the readers. */
Request lateCommit, lateMove;

/* Whose transaction moved the position and is still open: a reader's, or `lateCommit`. */
#define LATE 2
#define FREE 3
byte lock = FREE;

#if ELECTIONS
/* What a majority of the members has. */
byte safePosition, safeTopic, safeMovedBy = NOBODY;
bool safeRegistered[PROCESSES];
/* The reader's last write is not on a majority yet, or was rolled back. */
bool isUnsafe[2], isUndone[2];
#define AWAIT_MAJORITY isUnsafe[me] = true
#define IS_ACKNOWLEDGED (!isUnsafe[me] && !isUndone[me])
#else
#define AWAIT_MAJORITY skip
#define IS_ACKNOWLEDGED (true)
#endif

inline endTransaction(reader) {
  tx[reader].open = false; tx[reader].outdated = false; tx[reader].position = 0; tx[reader].topic = 0;
  lock = (lock == reader -> FREE : lock)
}

inline endRequest(request) {
  request.pending = false; request.process = 0; request.from = 0; request.to = 0; request.topic = 0;
  request.decision = 0; request.claim.isCurrent = false; request.claim.isSafe = false
}

inline endSession() {
  endTransaction(me);
  claim[me].isCurrent = false; claim[me].isSafe = false;
#if ELECTIONS
  isUnsafe[me] = false; isUndone[me] = false
#endif
}

/* The first writer wins: a transaction that is open can no longer write this record. */
inline changePositionRecord() {
  tx[0].outdated = tx[0].open; tx[1].outdated = tx[1].open
}

inline claimPosition() {
  if
  :: CLAIM_CHANGES_RECORD -> changePositionRecord()
  :: else
  fi;
  registered[process[me]] = true;
#ifdef CLAIM_ID
  claim[1 - me].isCurrent = false; lateMove.claim.isCurrent = false;
  claim[me].isCurrent = true; claim[me].isSafe = false;
#endif
  AWAIT_MAJORITY
}

inline movePosition(number, start, end, itsDecision) {
  /* Of the batches that were decided on a position, one is stored. The position never goes back. */
  assert(start == position);
  position = end; movedBy = number;
  changePositionRecord();
  /* Every record before the position is applied, in order. */
  assert(topic == STORED_AT(position));
  /* The dead letter of a rejected record exists before the position passes it. */
  assert(position <= REJECTED || hasDeadLetter);
  if
  :: process[0] == number -> unreportedTo[0] = end; unreportedDecision[0] = itsDecision
  :: process[1] == number -> unreportedTo[1] = end; unreportedDecision[1] = itsDecision
  :: else
  fi
}

#if ELECTIONS
inline replicate() {
  safePosition = position; safeTopic = topic; safeMovedBy = movedBy;
  number = 0;
  do
  :: number < PROCESSES -> safeRegistered[number] = registered[number]; number++
  :: else -> break
  od;
  claim[0].isSafe = claim[0].isCurrent; claim[1].isSafe = claim[1].isCurrent;
  lateMove.claim.isSafe = lateMove.claim.isCurrent;
  isUnsafe[0] = false; isUnsafe[1] = false
}

inline undoUnsafe(reader) {
  isUndone[reader] = isUnsafe[reader]; isUnsafe[reader] = false;
  if
  :: isUndone[reader] && step[reader] == STORED -> unreportedTo[reader] = 0; unreportedDecision[reader] = 0
  :: else
  fi
}

inline rollBack() {
  position = safePosition; topic = safeTopic; movedBy = safeMovedBy;
  number = 0;
  do
  :: number < PROCESSES -> registered[number] = safeRegistered[number]; number++
  :: else -> break
  od;
  claim[0].isCurrent = claim[0].isSafe; claim[1].isCurrent = claim[1].isSafe;
  lateMove.claim.isCurrent = lateMove.claim.isSafe;
  endTransaction(0); endTransaction(1); endRequest(lateCommit); lock = FREE;
  undoUnsafe(0); undoUnsafe(1)
}
#endif

active proctype mongodb() {
#if ELECTIONS
  byte number;
#endif
end:
  do
  /* An abandoned transaction is committed, or aborted. */
  :: d_step { lateCommit.pending ->
       topic = lateCommit.topic; lock = FREE;
       movePosition(lateCommit.process, lateCommit.from, lateCommit.to, lateCommit.decision);
       endRequest(lateCommit)
     }
  :: d_step { lateCommit.pending -> lock = FREE; endRequest(lateCommit) }
  :: d_step { lateMove.pending && lock == FREE ->
       if
       :: lateMove.from == position && IS_CURRENT(lateMove.claim) ->
          movePosition(lateMove.process, lateMove.from, lateMove.to, lateMove.decision)
       :: else
       fi;
       endRequest(lateMove)
     }
#if ELECTIONS
  :: d_step { elections < ELECTIONS || isUnsafe[0] || isUnsafe[1] -> replicate() }
  :: d_step { elections < ELECTIONS -> elections++; rollBack() }
#endif
  od
}
