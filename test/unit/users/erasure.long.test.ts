import assert from "node:assert/strict";
import { it } from "node:test";

import { createErasureScene } from "../../support/erasure-scene.ts";

const { addPerson, findText, start, count, killAt } = await createErasureScene();

it("an erasure that is killed at any write is finished by repeating it, under one pseudonym", async () => {
  const users = [await addPerson()];
  const writes = await count(async () => {
    for (const minutes of [0, 1]) await start(minutes)(users[0] ?? "");
  });
  assert.ok(writes > 15, String(writes));
  for (let at = 0; at < writes; at += 1) {
    const user = await addPerson();
    users.push(user);
    const seen = new Set<string>();
    await killAt(at, async () => {
      for (const minutes of [0, 1])
        await start(minutes)(user).then(
          (erasure) => seen.add(erasure?.pseudonym ?? ""),
          () => undefined,
        );
    });
    for (const minutes of [1, 2, 3]) {
      const erasure = await start(minutes)(user);
      if (erasure === undefined) break;
      assert.equal(erasure.keys.length, 2, "keys that were revoked before are named");
      seen.add(erasure.pseudonym);
    }
    assert.equal(seen.size, 1, `killed at write ${at}`);
  }
  for (const user of users) assert.deepEqual(await findText(user), []);
});
