/*
 * MongoDB, as far as the protocol depends on it: the position's record, the stored topic, transactions of the
 * readers, a commit that arrives late, and elections. Included by partition-protocol.pml.
 */

/* A process has the number of its reader, which is also that of its session. After a crash it is nobody. */
#define NOBODY 2

#ifdef CLAIM_CHANGES_NOTHING
/* As if a claim only added its session to the position's record. */
bool registered[2];
#define CLAIM_CHANGES_RECORD (!registered[me])
#define REGISTER registered[me] = true
#define UNREGISTER registered[me] = false
#else
#define CLAIM_CHANGES_RECORD (true)
#define REGISTER skip
#define UNREGISTER skip
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

/* A commit whose response nobody awaits any more. It may still be executed. */
typedef Request {
  bool pending;
  byte process, from, to, topic, decision
}

byte position, topic;
byte movedBy = NOBODY;
Transaction tx[2]; /* Of the readers. */
Request lateCommit;

/* Whose transaction moved the position and is still open: a reader's, or `lateCommit`. */
#define LATE 2
#define FREE 3
byte lock = FREE;

/* What a majority of the members has. After the last election nothing can be lost any more. */
#define CAN_LOSE (elections < ELECTIONS)
byte safePosition, safeTopic, safeMovedBy = NOBODY;
/* The reader's last write is not on a majority yet, or was rolled back. */
bool isUnsafe[2], isUndone[2];
#define AWAIT_MAJORITY isUnsafe[me] = CAN_LOSE
#define IS_ACKNOWLEDGED (!isUnsafe[me] && !isUndone[me])

inline endTransaction(reader) {
  tx[reader].open = false; tx[reader].outdated = false; tx[reader].position = 0; tx[reader].topic = 0;
  lock = (lock == reader -> FREE : lock)
}

inline endLateCommit() {
  lock = (lock == LATE -> FREE : lock);
  lateCommit.pending = false; lateCommit.process = 0; lateCommit.from = 0; lateCommit.to = 0;
  lateCommit.topic = 0; lateCommit.decision = 0
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
  REGISTER;
  AWAIT_MAJORITY
}

inline endProcess() {
  endTransaction(me);
  isUnsafe[me] = false; isUndone[me] = false;
  movedBy = (movedBy == me -> NOBODY : movedBy);
  safeMovedBy = (safeMovedBy == me -> NOBODY : safeMovedBy);
  lateCommit.process = (lateCommit.pending && lateCommit.process == me -> NOBODY : lateCommit.process);
  UNREGISTER
}

inline movePosition(mover, start, end, itsDecision) {
  /* Of the batches that were decided on a position, one is stored. The position never goes back. */
  assert(start == position);
  position = end; movedBy = mover;
  changePositionRecord();
  /* Every record before the position is applied, in order. */
  assert(topic == STORED_AT(position));
  /* The dead letter of a rejected record exists before the position passes it. */
  assert(position <= REJECTED || hasDeadLetter);
  if
  :: movedBy != NOBODY -> unreportedTo[movedBy] = end; unreportedDecision[movedBy] = itsDecision
  :: else
  fi
}

inline replicate() {
  safePosition = position; safeTopic = topic; safeMovedBy = movedBy;
  isUnsafe[0] = false; isUnsafe[1] = false
}

/* The new primary has what a majority has, and no open transaction. */
inline elect() {
  elections++;
  isUndone[0] = isUndone[0] || isUnsafe[0]; isUndone[1] = isUndone[1] || isUnsafe[1];
  isUnsafe[0] = false; isUnsafe[1] = false;
  if
  :: position != safePosition && movedBy != NOBODY ->
     unreportedTo[movedBy] = 0; unreportedDecision[movedBy] = 0
  :: else
  fi;
  position = safePosition; topic = safeTopic; movedBy = safeMovedBy;
  endTransaction(0); endTransaction(1); endLateCommit();
  if
  :: CAN_LOSE
  :: else -> safePosition = 0; safeTopic = 0; safeMovedBy = NOBODY
  fi
}

active proctype mongodb() {
end:
  do
  /* An abandoned transaction is committed, or aborted. */
  :: d_step { lateCommit.pending ->
       topic = lateCommit.topic;
       movePosition(lateCommit.process, lateCommit.from, lateCommit.to, lateCommit.decision);
       endLateCommit()
     }
  :: d_step { lateCommit.pending -> endLateCommit() }
  :: d_step { CAN_LOSE && (safePosition != position || isUnsafe[0] || isUnsafe[1]) -> replicate() }
  :: d_step { CAN_LOSE -> elect() }
  od
}
