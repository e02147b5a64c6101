import { createRoutingTransactions } from "../../../src/kafka/transactions.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { replacePlatform } from "../../../src/lib/platform.ts";
import { createClock, createHost } from "../clock.ts";
import { createCoordinator } from "../kafka/coordinator.ts";
import { createProducerClient } from "../kafka/producer-client.ts";
import { createNetwork } from "../network.ts";
import { createRandom } from "../random.ts";
import { withSimulatedTimers } from "../timers.ts";
import { createSimulatedPlatform } from "../world.ts";
import type { TransactionsUnderTest } from "./kafka-transaction-scenes.ts";
import { playScene } from "./simulated-kafka.ts";

const [topic, smallTopic] = ["egress", "small"] as const;
const log = await createLogger("silent");

/** Runs a scene against a simulated coordinator, whose markers and network follow from the seed. Replaces the platform meanwhile. */
export async function runSimulatedTransactions<T>(
  seed: number,
  scene: (kafka: TransactionsUnderTest) => Promise<T>,
): Promise<T> {
  const outside = createHost("scene");
  const clock = createClock(outside);
  const random = createRandom(seed);
  const leaders = [createHost("leader 0"), createHost("leader 1")] as const;
  const coordinator = createCoordinator({ clock, random, host: leaders[0], onDecided: () => undefined });
  coordinator.createTopic(topic, 2, Infinity);
  coordinator.createTopic(smallTopic, 1, 1_000);
  const network = createNetwork(clock, random);
  // Leaders do not change here.
  const withoutFaults = { ...random, chance: () => false };

  const platform = replacePlatform(createSimulatedPlatform(clock, { random, ids: createRandom(seed + 1) }));
  const kafka: TransactionsUnderTest = {
    topic,
    smallTopic,
    createTransactions: () =>
      createRoutingTransactions({
        partition: { topic: "events", partition: 0 },
        groupId: "router",
        ...createProducerClient({
          ...{ network, coordinator, leaders, random: withoutFaults },
          process: outside,
          onConnected: () => undefined,
        }),
        log,
      }),
    readCommitted: (name) =>
      Promise.resolve(
        (coordinator.topics.get(name)?.logs ?? []).map((one) =>
          one.readCommitted().map(({ value }) => String(value)),
        ),
      ),
  };
  try {
    return await withSimulatedTimers(() => playScene(clock, outside, () => scene(kafka)));
  } finally {
    replacePlatform(platform);
  }
}
