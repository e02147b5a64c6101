/*
 * How the records of one partition are applied while two readers believe that they own it. README.md ties the
 * steps to the code, and lists the switches.
 */

#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef LOST_RESPONSES
#define LOST_RESPONSES 1
#endif

/* The log: define A; define B, which is rejected because A has the same combination; retire A; define B. */
#define LOG_END 4
#define REJECTED 1
#define RETIRED 2
#define NONE 0
#define A 1
#define B 2
#define DEFINED_AT(offset) ((offset) == 0 -> A : B)
/* The topic that is stored once the records before a position are applied. */
#define STORED_AT(position) ((position) == 0 || (position) == 3 -> NONE : ((position) == 4 -> B : A))

/* ---- Switches ---- */

#ifdef NO_CAS
#define IS_UNMOVED(at) (true)
#else
#define IS_UNMOVED(at) ((at) == from && IS_CURRENT(claim[me]))
#endif

#define HAS_WRITES (removed != NONE || created != NONE)
#ifdef POSITION_FIRST
#define BEGINS_WITH_WRITE (false)
#else
#define BEGINS_WITH_WRITE HAS_WRITES
#endif
#if defined(POSITION_FIRST) || defined(NO_TRANSACTIONS)
#define IN_TRANSACTION (false)
#else
#define IN_TRANSACTION HAS_WRITES
#endif

#if defined(DEAD_LETTERS_AFTER_COMMIT)
#define AFTER_WRITE MOVE
#elif defined(NO_CHECK_BEFORE_DEAD_LETTERS)
#define AFTER_WRITE (rejected != 0 -> SEND : MOVE)
#else
#define AFTER_WRITE (rejected != 0 -> CHECK : MOVE)
#endif

#ifdef NO_OWNER_CHECK
#define IS_OURS (true)
#else
#define IS_OURS (movedBy == process[me])
#endif

#ifdef EXACT_REPORTS
#define DECISION (removed + 4 * created + 16 * rejected)
#else
#define DECISION 0
#endif

/* ---- The processes, Kafka and MongoDB ---- */

mtype = { KILL, CLAIM, CONFIRM, DECIDE, WRITE, CHECK, SEND, MOVE, COMMIT, STORED, CLOSED };
mtype step[2] = KILL;
byte process[2];
bool hasDeadLetter;
byte crashes, lostResponses, elections;
/* The last batch that a reader stored, until it is reported. */
byte unreportedTo[2], unreportedDecision[2];

#include "mongodb.pml"

/* ---- The readers ---- */

inline decide() {
  removed = NONE; created = NONE; rejected = 0;
  offset = from;
  do
  :: offset == to -> break
  :: offset != to && offset == RETIRED ->
     removed = (view == A && created != A -> A : NONE);
     created = (view == A -> NONE : created);
     view = (view == A -> NONE : view);
     offset++
  :: offset != to && offset != RETIRED ->
     if
     :: view == NONE -> created = DEFINED_AT(offset); view = created
     :: view == DEFINED_AT(offset) /* Unchanged. */
     :: else -> rejected = rejected | (1 << offset)
     fi;
     offset++
  od;
  offset = 0; view = NONE
}

inline forgetBatch() {
  to = 0; removed = NONE; created = NONE; rejected = 0; mustLookUp = false
}

/* A write that failed may be stored nevertheless. The next claim shows it. */
inline fail() {
  endTransaction(me);
  unconfirmedTo = to; unconfirmedDecision = DECISION;
  forgetBatch();
  step[me] = KILL
}

inline report(end, itsDecision) {
  /* A batch is reported at most once, by the process that stored it. */
  assert(unreportedTo[me] == end && unreportedDecision[me] == itsDecision);
  unreportedTo[me] = 0; unreportedDecision[me] = 0
}

/* The reader no longer waits for the response, or is gone. */
inline abandon(request) {
  request.pending = true; request.process = process[me]; request.from = from; request.to = to;
  request.decision = DECISION;
  request.claim.isCurrent = claim[me].isCurrent; request.claim.isSafe = claim[me].isSafe
}

inline abandonCommit() {
  abandon(lateCommit); lateCommit.topic = tx[me].topic;
  endTransaction(me); lock = LATE
}

proctype reader(bit me) {
  byte from, to, view, removed, created, rejected, offset;
  bool mustLookUp, isStored;
  byte unconfirmedTo, unconfirmedDecision;
#ifdef DECIDE_ALL_AHEAD
  byte ahead;
#endif

  do
  /* killSessions, which may fail. */
  :: d_step { step[me] == KILL ->
       endTransaction(1 - me);
       if
       :: lock == LATE -> endRequest(lateCommit); lock = FREE
       :: else
       fi;
       step[me] = CLAIM
     }
  :: d_step { step[me] == KILL -> step[me] = CLAIM }

  :: d_step { step[me] == CLAIM && (lock == FREE || !CLAIM_CHANGES_RECORD) ->
       claimPosition();
       from = position;
       isStored = unconfirmedTo != 0 && unconfirmedTo == position && IS_OURS;
#ifdef DECIDE_ALL_AHEAD
       ahead = topic;
#endif
       step[me] = CONFIRM
     }

  /* Reports a failed write that was stored. Then Kafka is asked for the log's bounds, and may not respond. */
  :: atomic { step[me] == CONFIRM && IS_ACKNOWLEDGED ->
       d_step {
         if
         :: isStored -> report(unconfirmedTo, unconfirmedDecision)
         :: else
         fi;
         isStored = false;
#ifndef KEEP_UNCONFIRMED
         unconfirmedTo = 0; unconfirmedDecision = 0
#endif
       };
       if
       :: step[me] = DECIDE
       :: lostResponses < LOST_RESPONSES -> lostResponses++; step[me] = KILL
       fi
     }

  :: step[me] == DECIDE && from == LOG_END -> break

  /* Stored topics are looked up outside of the transaction, or are assumed to be absent. */
  :: atomic { step[me] == DECIDE && from < LOG_END ->
       if
       :: to = from + 1
       :: from + 2 <= LOG_END -> to = from + 2
       fi;
       if
#ifdef DECIDE_ALL_AHEAD
       :: view = ahead; ahead = topic
#else
       :: view = topic
#endif
       :: !mustLookUp && to == from + 1 && from != RETIRED -> view = NONE
       fi;
       d_step { decide(); step[me] = (BEGINS_WITH_WRITE -> WRITE : AFTER_WRITE) }
     }

  /* The first write begins the transaction. A unique index may reject it. */
  :: d_step { step[me] == WRITE ->
       tx[me].open = true; tx[me].position = position; tx[me].topic = (removed == topic -> NONE : topic);
       if
       :: created != NONE && tx[me].topic != NONE ->
          endTransaction(me); forgetBatch(); mustLookUp = true; step[me] = DECIDE
       :: else ->
          tx[me].topic = (created != NONE -> created : tx[me].topic);
#ifdef NO_TRANSACTIONS
          topic = tx[me].topic; endTransaction(me);
#endif
          step[me] = AFTER_WRITE
       fi
     }

  :: d_step { step[me] == CHECK ->
       if
       :: IN_TRANSACTION && !tx[me].open -> step[me] = WRITE
       :: IN_TRANSACTION && tx[me].open && IS_UNMOVED(tx[me].position) -> step[me] = SEND
       :: !IN_TRANSACTION && IS_UNMOVED(position) -> step[me] = SEND
       :: else -> fail()
       fi
     }

  :: d_step { step[me] == SEND ->
       /* A record that is not rejected has no dead letter. */
       assert(rejected == (1 << REJECTED));
       hasDeadLetter = true;
       step[me] = MOVE
     }

  /* In the transaction. After a conflict it is repeated for a while. */
  :: atomic { step[me] == MOVE && IN_TRANSACTION ->
       if
       :: HAS_CONFLICT -> endTransaction(me); step[me] = WRITE
       :: HAS_CONFLICT -> fail()
       :: !HAS_CONFLICT && IS_UNMOVED(tx[me].position) -> lock = me; step[me] = COMMIT
#ifdef NO_REREAD_AFTER_FENCE
       :: !HAS_CONFLICT && !IS_UNMOVED(tx[me].position) -> endTransaction(me); step[me] = DECIDE
#else
       :: !HAS_CONFLICT && !IS_UNMOVED(tx[me].position) -> fail()
#endif
       fi
     }

  :: atomic { step[me] == COMMIT ->
       if
       :: !tx[me].open -> step[me] = WRITE
       :: !tx[me].open -> fail()
       :: d_step { tx[me].open ->
            topic = tx[me].topic;
            movePosition(process[me], from, to, DECISION);
            endTransaction(me);
            AWAIT_MAJORITY;
            step[me] = STORED
          }
       :: d_step { tx[me].open && lostResponses < LOST_RESPONSES ->
            lostResponses++; abandonCommit();
#ifdef NO_REREAD_AFTER_UNKNOWN_COMMIT
            step[me] = STORED
#else
            fail()
#endif
          }
       fi
     }

  /* Without a transaction, when the batch has no writes. */
  :: d_step { step[me] == MOVE && !IN_TRANSACTION && lock == FREE ->
       if
       :: IS_UNMOVED(position) ->
          movePosition(process[me], from, to, DECISION);
          AWAIT_MAJORITY;
          step[me] = STORED
#ifdef NO_REREAD_AFTER_FENCE
       :: else -> step[me] = DECIDE
#else
       :: else -> fail()
#endif
       fi
     }
  :: d_step { step[me] == MOVE && !IN_TRANSACTION && lostResponses < LOST_RESPONSES && !lateMove.pending ->
       lostResponses++; abandon(lateMove); fail()
     }

  :: d_step { step[me] == STORED && IS_ACKNOWLEDGED ->
       report(to, DECISION);
       from = to;
       forgetBatch();
       step[me] = DECIDE
     }

#if ELECTIONS
  :: atomic { step[me] == STORED && isUndone[me] ->
       isUndone[me] = false;
       if
       :: step[me] = (IN_TRANSACTION -> WRITE : MOVE)
       :: fail()
       fi
     }
  :: d_step { step[me] == CONFIRM && isUndone[me] -> isUndone[me] = false; isStored = false; step[me] = KILL }
#endif

  /* A crash. The process starts again. */
  :: atomic { crashes < CRASHES && step[me] != KILL && step[me] != CLOSED ->
       if
       :: lock == me -> abandonCommit()
       :: step[me] == MOVE && !IN_TRANSACTION && !lateMove.pending -> abandon(lateMove)
       :: lock != me
       fi;
       d_step {
         forgetBatch();
         from = 0; isStored = false; unconfirmedTo = 0; unconfirmedDecision = 0;
         unreportedTo[me] = 0; unreportedDecision[me] = 0;
         endSession();
         process[me] = 2 + crashes; crashes++;
         step[me] = KILL
       }
     }

  :: step[me] == CLOSED -> break
  od
}

init {
  atomic { process[1] = 1; run reader(0); run reader(1) }
}

#ifdef LIVENESS
/* At some time the second reader learns that it lost the partition. */
active proctype group() {
  d_step { endTransaction(1); step[1] = CLOSED }
}

ltl reachesLogEnd { <> (position == LOG_END) }
#endif
