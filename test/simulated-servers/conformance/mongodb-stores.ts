/** Plays scenes on the simulated and on the embedded store, and notes what the product would see. */

import { BSON, type ClientSession, type Collection, type Db, type MongoClient } from "mongodb";

import { clientOptions } from "../../../src/storage/database/client-options.ts";
import { classify, getWriteErrors, type FailureKind } from "../../../src/storage/database/failures.ts";
import { ensureIndexes } from "../../../src/storage/indexes.ts";
import { collections } from "../../../src/storage/names.ts";
import type { PositionRecord } from "../../../src/storage/position-records.ts";
import { createClock, createHost } from "../clock.ts";
import { createMongoClient } from "../mongodb/client.ts";
import type { Dialect } from "../mongodb/commands.ts";
import { MongoServer } from "../mongodb/server.ts";
import { Network } from "../network.ts";
import { createRandom } from "../random.ts";

export interface StoredRecord<Id = string> {
  _id: Id;
  [field: string]: unknown;
}

/** What a step returned, as extended JSON, or how its error is classified. */
export type Outcome =
  { readonly result: unknown } | { readonly failure: FailureKind; readonly failedWrites?: readonly number[] };

export interface Note {
  readonly step: string;
  readonly outcome: Outcome;
}

/** What MongoDB does, where SecantusDB is known to do something else. */
export interface Exception {
  readonly because: string;
  readonly documented: Outcome;
}

type Run = () => Promise<unknown>;

export interface Stage {
  readonly client: MongoClient;
  readonly db: Db;
  readonly topics: Collection<StoredRecord>;
  readonly retired: Collection<StoredRecord>;
  readonly positions: Collection<StoredRecord<PositionRecord["_id"]>>;
  readonly installations: Collection<StoredRecord>;
  /**
   * Notes the outcome of a step. SecantusDB does not play a step with an exception: what is documented is
   * noted for it.
   */
  readonly note: (step: string, run: Run, exception?: Exception) => Promise<void>;
  /** Begins a step that waits. The function that it returns waits for the outcome, and notes it. */
  readonly begin: (step: string, run: Run) => () => Promise<void>;
}

export interface Scene {
  readonly name: string;
  readonly play: (stage: Stage) => Promise<void>;
}

async function getOutcome(run: Run): Promise<Outcome> {
  try {
    return { result: BSON.EJSON.serialize({ value: (await run()) ?? null }, { relaxed: false })["value"] };
  } catch (error) {
    const failedWrites = getWriteErrors(error)?.map(({ index }) => index);
    return { failure: classify(error), ...(failedWrites && { failedWrites }) };
  }
}

interface PlayOptions {
  readonly client: MongoClient;
  readonly isSecantus: boolean;
}

async function play(scene: Scene, { client, isSecantus }: PlayOptions): Promise<readonly Note[]> {
  const db = client.db();
  await ensureIndexes(db);
  const notes: Note[] = [];

  function begin(step: string, run: Run): () => Promise<void> {
    const outcome = getOutcome(run);
    return async () => void notes.push({ step, outcome: await outcome });
  }

  async function note(step: string, run: Run, exception?: Exception): Promise<void> {
    if (isSecantus && exception !== undefined) notes.push({ step, outcome: exception.documented });
    else await begin(step, run)();
  }

  await scene.play({
    client,
    db,
    topics: db.collection(collections.topics),
    retired: db.collection(collections.retiredTopics),
    positions: db.collection(collections.positions),
    installations: db.collection(collections.installations),
    begin,
    note,
  });
  return notes;
}

/** More than a scene may wait. */
const maxSceneMs = 120_000;

/** Plays a scene on a new simulated store. */
export async function playSimulated(scene: Scene, dialect: Dialect = "mongodb"): Promise<readonly Note[]> {
  const clock = createClock(createHost("world"));
  const random = createRandom(1);
  const network = new Network(clock, random);
  const server = new MongoServer(
    { clock, random, host: createHost("store") },
    { isReplicaSet: true, dialect, canKillSessions: true },
  );
  const host = createHost("client");
  const { writeConcern } = clientOptions;
  const client = createMongoClient({ clock, random, network, server, host, writeConcern });
  let notes: readonly Note[] | undefined;
  clock.schedule(host, 0, () => {
    play(scene, { client, isSecantus: false }).then((all) => {
      notes = all;
    }, clock.fail);
  });
  await clock.runUntil(maxSceneMs, () => notes !== undefined);
  if (notes === undefined) throw new Error(`the scene has not ended: ${scene.name}`);
  return notes;
}

/** Plays a scene on the store that a client is connected to; its database is empty. */
export async function playEmbedded(scene: Scene, client: MongoClient): Promise<readonly Note[]> {
  const isSecantus = "secantusVersion" in (await client.db().command({ buildInfo: 1 }));
  return play(scene, { client, isSecantus });
}

/** All records of a collection that match, in a certain order. */
export async function readAll(
  collection: { readonly find: (filter: object) => { readonly toArray: () => Promise<object[]> } },
  filter: object = {},
): Promise<readonly object[]> {
  return sort(await collection.find(filter).toArray());
}

export const sort = <R extends object>(records: readonly R[]): readonly R[] =>
  records.toSorted((one, other) => (BSON.EJSON.stringify(one) < BSON.EJSON.stringify(other) ? -1 : 1));

/** Kills sessions, as the next owner of a partition does. */
export const killSessions = ({ db }: Stage, ...sessions: readonly ClientSession[]): Promise<unknown> =>
  db.admin().command({ killSessions: sessions.map(({ id }) => ({ id: id?.id })) });
