import assert from "node:assert/strict";
import { it } from "node:test";

import { writePicked } from "../../../../src/cli/output/pick-view.ts";

it("says that only the first topics of an event are shown", async () => {
  let written = "";
  const output = {
    write(text: string | Uint8Array) {
      written += String(text);
      return Promise.resolve(true);
    },
  };
  const topic = { id: "1", externalId: "a", name: "A", namespace: "n" };
  await writePicked(output, "event.json", { topics: [topic], total: 2_000 });
  assert.match(written, /^event\.json matches 2000 topics \(the first 1 are shown\):\n/);
});
