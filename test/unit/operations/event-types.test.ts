import assert from "node:assert/strict";
import { it } from "node:test";

import { ConfigurationError, UnavailableError } from "@topicsync/lib/errors";
import type { Call } from "../../../src/operations/framework/operation.ts";
import type { OperationServices } from "../../../src/operations/framework/services.ts";
import { eventTypeOperations } from "../../../src/operations/event-types.ts";
import type { EventTypeService } from "../../../src/event-types/service.ts";

/** Lists the event types. */
const list = async (getSample: EventTypeService["getSample"]) =>
  eventTypeOperations[0]?.handle({} as Call, { eventTypes: { getSample } } as OperationServices);

it("says why there are no event types", async () => {
  assert.deepEqual(await list(() => Promise.resolve(undefined)), {
    status: 200,
    json: {
      reason: "No events are read: the setting KAFKA_EVENTS_TOPIC names no Kafka topic.",
      eventTypes: [],
    },
  });
  const missing = new ConfigurationError('there is no Kafka topic named "events"');
  await assert.rejects(
    list(() => Promise.reject(missing)),
    {
      code: "UNAVAILABLE",
      message: 'The events cannot be read: there is no Kafka topic named "events".',
    },
  );
  const away = new UnavailableError("Kafka is away");
  await assert.rejects(
    list(() => Promise.reject(away)),
    away,
  );
});
