/** What the router's transactions leave behind, and how they fail. */
import { getErrorMessage } from "@topicsync/lib/errors";
import type { RoutedRecord, RoutingTransactions } from "@topicsync/kafka";

/** A Kafka whose transactions are under test. */
export interface TransactionsUnderTest {
  /** Has two partitions. */
  readonly topic: string;
  /** Has one partition, and rejects records of more than a kilobyte. */
  readonly smallTopic: string;
  /** The producer of a further process for the same partition and group. */
  createTransactions(): RoutingTransactions;
  /**
   * The values in each partition, as a reader with `read_committed` finds them once every transaction is
   * completed.
   */
  readCommitted(topic: string): Promise<readonly (readonly string[])[]>;
}

export interface TransactionScene {
  readonly name: string;
  readonly play: (kafka: TransactionsUnderTest) => Promise<unknown>;
}

const at = (offset: number) => ({ offset, epoch: 2, newest: 5 });

const createRecord = (topic: string, partition: number, value: string): RoutedRecord => ({
  topic,
  partition,
  key: null,
  value: Buffer.from(value),
  timestamp: "1000",
  headers: [],
});

/** Forwards values to the partitions 0, 1, 0, … in one transaction. */
async function forward(
  { topic }: TransactionsUnderTest,
  transactions: RoutingTransactions,
  offset: number,
  values: readonly string[],
): Promise<void> {
  const transaction = await transactions.begin(at(offset));
  await transaction.sendAll(values.map((value, index) => createRecord(topic, index % 2, value)));
  await transaction.commit();
}

/** The name of the error; "done" without one. */
const getOutcome = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "done",
    (error: unknown) => (error instanceof Error ? error.name : getErrorMessage(error)),
  );

export const transactionScenes: readonly TransactionScene[] = [
  {
    name: "transactions that follow each other at once",
    async play(kafka) {
      const transactions = kafka.createTransactions();
      const before = await transactions.claim();
      await forward(kafka, transactions, 3, ["a", "b", "c"]);
      await forward(kafka, transactions, 4, ["d"]);
      await forward(kafka, transactions, 6, []);
      const own = await transactions.claim();
      const others = await kafka.createTransactions().claim();
      return { before, own, others, read: await kafka.readCommitted(kafka.topic) };
    },
  },
  {
    name: "a transaction that its process gives up",
    async play(kafka) {
      const transactions = kafka.createTransactions();
      await transactions.claim();
      await forward(kafka, transactions, 1, ["a"]);
      const given = await transactions.begin(at(2));
      await given.sendAll([createRecord(kafka.topic, 0, "given up")]);
      const claimed = await transactions.claim();
      const late = await getOutcome(given.commit());
      await transactions.claim();
      await forward(kafka, transactions, 2, ["b"]);
      return {
        claimed,
        late,
        after: await transactions.claim(),
        read: await kafka.readCommitted(kafka.topic),
      };
    },
  },
  {
    name: "a producer whose partition was taken over",
    async play(kafka) {
      const [former, owner] = [kafka.createTransactions(), kafka.createTransactions()];
      await former.claim();
      await forward(kafka, former, 1, ["a"]);
      const open = await former.begin(at(2));
      await open.sendAll([createRecord(kafka.topic, 0, "fenced")]);
      const claimed = await owner.claim();
      const outcomes = [await getOutcome(open.commit()), await getOutcome(former.begin(at(2)))];
      await forward(kafka, owner, 2, ["b"]);
      return { claimed, outcomes, after: await owner.claim(), read: await kafka.readCommitted(kafka.topic) };
    },
  },
  {
    name: "a producer that sends after its partition was taken over",
    async play(kafka) {
      const [idle, sending, owner] = [1, 2, 3].map(() => kafka.createTransactions());
      if (idle === undefined || sending === undefined || owner === undefined) return undefined;
      await idle.claim();
      await sending.claim();
      const open = await sending.begin(at(1));
      await owner.claim();
      const outcomes = [
        await getOutcome(idle.begin(at(1))),
        await getOutcome(open.sendAll([createRecord(kafka.topic, 0, "fenced")])),
      ];
      await forward(kafka, owner, 1, ["a"]);
      return { outcomes, after: await owner.claim(), read: await kafka.readCommitted(kafka.topic) };
    },
  },
  {
    name: "a record that the Kafka topic rejects",
    async play(kafka) {
      const transactions = kafka.createTransactions();
      await transactions.claim();
      const records = ["a", "b".repeat(2_000), "c"].map((value) => createRecord(kafka.smallTopic, 0, value));
      const rejected = await transactions.begin(at(3));
      const outcome = await getOutcome(rejected.sendAll(records));
      const claimed = await transactions.claim();
      const transaction = await transactions.begin(at(3));
      const results = await transaction.sendEach(records);
      await transaction.commit();
      return {
        outcome,
        claimed,
        rejected: results.map((result) => "rejection" in result && result.rejection.reason),
        after: await transactions.claim(),
        read: await kafka.readCommitted(kafka.smallTopic),
      };
    },
  },
];
