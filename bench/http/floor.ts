/**
 * The floor of `npm run bench -- http`, a minimal implementation: Express with `express.json()` and one
 * upsert per request, without credentials, validation or log. The same record, indexes and durability as the
 * service.
 *
 * Usage: node bench/http/floor.ts URI PORT
 */
import { randomUUID } from "node:crypto";

import express from "express";
import { MongoClient } from "mongodb";

import { collections } from "../../src/storage/names.ts";

const [, , uri = "", port = ""] = process.argv;

const client = new MongoClient(uri, { writeConcern: { w: "majority", journal: true } });
const installations = client.db().collection<{ _id: string }>(collections.installations);

const app = express();
app.post("/push/:application/installation", express.json(), async (request, response) => {
  const { token, platform } = request.body as { token: string; platform: string };
  const now = new Date();
  await installations.updateOne(
    { token, application: request.params.application, platform },
    {
      $set: { user: "floor", active: true, sys_updated_on: now, last_seen_on: now },
      $setOnInsert: { _id: randomUUID().replaceAll("-", ""), sys_created_on: now },
    },
    { upsert: true },
  );
  response.status(200).end();
});
app.listen(Number(port), "127.0.0.1");
