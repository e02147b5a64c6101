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
#ifndef ELECTIONS
#define ELECTIONS 1
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
#define IS_UNMOVED (true)
#else
#define IS_UNMOVED (tx[me].position == from)
#endif

/* Each election gives the primary another name. A batch decided without look-ups fits any primary. */
#define ANY 255
#define IS_SAME_PRIMARY (primary == ANY || primary == elections)
#ifdef NO_PRIMARY_CHECK_BEFORE_DEAD_LETTERS
#define MAY_SEND IS_UNMOVED
#else
#define MAY_SEND (IS_UNMOVED && IS_SAME_PRIMARY)
#endif
#ifdef NO_PRIMARY_CHECK_BEFORE_COMMIT
#define MAY_COMMIT IS_UNMOVED
#else
#define MAY_COMMIT (IS_UNMOVED && IS_SAME_PRIMARY)
#endif

#if defined(DEAD_LETTERS_AFTER_COMMIT)
#define AFTER_WRITE MOVE
#elif defined(NO_CHECK_BEFORE_DEAD_LETTERS)
#define AFTER_WRITE (rejected != 0 -> SEND : MOVE)
#else
#define AFTER_WRITE (rejected != 0 -> CHECK : MOVE)
#endif

#ifdef NO_TRANSACTIONS
#define STORE_RECORDS topic = tx[me].topic
#else
#define STORE_RECORDS skip
#endif

#ifdef NO_OWNER_CHECK
#define IS_OURS (true)
#else
#define IS_OURS (movedBy == me)
#endif

/* ---- The processes, Kafka and MongoDB ---- */

mtype = { KILL, CLAIM, CONFIRM, DECIDE, WRITE, CHECK, SEND, MOVE, COMMIT, STORED, CLOSED };
mtype step[2] = KILL;
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

#define DECISION (removed + 4 * created + 16 * rejected)

inline forgetBatch() {
  to = 0; removed = NONE; created = NONE; rejected = 0; primary = 0; mustLookUp = false
}

/* A write that failed may be stored nevertheless. The next claim shows it. */
inline fail() {
  endTransaction(me);
  unconfirmedTo = to; unconfirmedDecision = DECISION;
  forgetBatch(); from = 0;
  step[me] = KILL
}

inline report(end, itsDecision) {
  /* A batch is reported at most once, by the process that stored it. */
  assert(unreportedTo[me] == end && unreportedDecision[me] == itsDecision);
  unreportedTo[me] = 0; unreportedDecision[me] = 0
}

/* The reader no longer waits for the response, or is gone. */
inline abandonCommit() {
  lateCommit.pending = true; lateCommit.process = me; lateCommit.from = from; lateCommit.to = to;
  lateCommit.topic = tx[me].topic; lateCommit.decision = DECISION;
  endTransaction(me); lock = LATE
}

proctype reader(bit me) {
  byte from, to, primary, view, removed, created, rejected, offset;
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
       :: lateCommit.pending -> endLateCommit()
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
       :: lostResponses < LOST_RESPONSES -> lostResponses++; from = 0; step[me] = KILL
       fi
     }

  :: step[me] == DECIDE && from == LOG_END -> break

  /* Stored topics are looked up outside of the transaction, or are assumed to be absent. */
  :: atomic { step[me] == DECIDE && from < LOG_END ->
       to = from + 1;
       do
       :: break
       :: to < LOG_END -> to++
       od;
       primary = elections;
       if
#ifdef DECIDE_ALL_AHEAD
       :: view = ahead; ahead = topic
#else
       :: view = topic
#endif
       :: !mustLookUp && to == from + 1 && from != RETIRED -> view = NONE; primary = ANY
       fi;
       d_step { decide(); step[me] = WRITE }
     }

  /* The first step begins the transaction. A unique index may reject a write. */
  :: d_step { step[me] == WRITE ->
       tx[me].open = true; tx[me].position = position; tx[me].topic = (removed == topic -> NONE : topic);
       if
       :: created != NONE && tx[me].topic != NONE ->
          endTransaction(me); forgetBatch(); mustLookUp = true; step[me] = DECIDE
       :: else ->
          tx[me].topic = (created != NONE -> created : tx[me].topic);
          STORE_RECORDS;
          step[me] = AFTER_WRITE
       fi
     }

  :: atomic { step[me] == CHECK ->
       if
       :: !tx[me].open -> step[me] = WRITE
       :: !tx[me].open -> fail()
       :: tx[me].open && MAY_SEND -> step[me] = SEND
       :: tx[me].open && !MAY_SEND -> fail()
       fi
     }

  :: d_step { step[me] == SEND ->
       /* A record that is not rejected has no dead letter. */
       assert(rejected == (1 << REJECTED));
       hasDeadLetter = true;
       step[me] = MOVE
     }

  /* Moves the position in the transaction, which is repeated for a while after conflicts. */
  :: atomic { step[me] == MOVE ->
       if
       :: HAS_CONFLICT -> endTransaction(me); step[me] = WRITE
       :: HAS_CONFLICT -> fail()
       :: !HAS_CONFLICT && MAY_COMMIT -> lock = me; step[me] = COMMIT
#ifdef NO_REREAD_AFTER_FENCE
       :: !HAS_CONFLICT && !MAY_COMMIT -> endTransaction(me); step[me] = DECIDE
#else
       :: !HAS_CONFLICT && !MAY_COMMIT -> fail()
#endif
       fi
     }

  :: atomic { step[me] == COMMIT ->
       if
       :: !tx[me].open -> step[me] = WRITE
       :: !tx[me].open -> fail()
       :: d_step { tx[me].open ->
            topic = tx[me].topic;
            movePosition(me, from, to, DECISION);
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

  :: d_step { step[me] == STORED && IS_ACKNOWLEDGED ->
       report(to, DECISION);
       from = to;
       forgetBatch();
       step[me] = DECIDE
     }

  /* An election undid the commit, or the claim. */
  :: atomic { step[me] == STORED && isUndone[me] ->
       isUndone[me] = false;
       if
       :: step[me] = WRITE
       :: fail()
       fi
     }
  :: d_step { step[me] == CONFIRM && isUndone[me] ->
       isUndone[me] = false; isStored = false; from = 0; step[me] = KILL
     }

  /* A crash. Another process takes the reader's place. */
  :: atomic { crashes < CRASHES && step[me] != KILL && step[me] != CLOSED ->
       if
       :: lock == me -> abandonCommit()
       :: else
       fi;
       d_step {
         forgetBatch();
         from = 0; isStored = false; unconfirmedTo = 0; unconfirmedDecision = 0;
         unreportedTo[me] = 0; unreportedDecision[me] = 0;
         endProcess();
         crashes++; step[me] = KILL
       }
     }

  :: step[me] == CLOSED -> break
  od
}

init {
  atomic { run reader(0); run reader(1) }
}

#ifdef LIVENESS
/* At some time the second reader learns that it lost the partition. */
active proctype group() {
  d_step { endTransaction(1); step[1] = CLOSED }
}

ltl reachesLogEnd { <> (position == LOG_END) }
#endif
