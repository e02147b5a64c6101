import { exitCodes } from "@topicsync/lib/errors";
import { Backtest } from "../../../plans/impact/backtest.ts";
import { toImpactClient } from "../../../service/impact/impact-preview.ts";
import { runWithClient } from "../../client/client.ts";
import { readTopics, warnInvalidFilters } from "../../client/topics.ts";
import type { JsonFlag } from "../../input/options.ts";
import type { ServerFlag } from "../../input/server.ts";
import { printBacktest, printImpact } from "../../output/impact-view.ts";
import { openOutput, printJson } from "../../output/output.ts";
import { readFileChanges, readTopicChange, type ChangedFilters } from "./impact-changes.ts";
import {
  previewChanges,
  readSelected,
  requireKafkaOrFile,
  type EventFlags,
  type PreviewPlace,
} from "./impact-preview.ts";

export interface ImpactFlags extends EventFlags, ChangedFilters, JsonFlag, ServerFlag {
  readonly examples: number;
  readonly all?: true;
}

/** Runs `topics impact`; without a server with a Kafka client of its own. */
export const runImpact = (paths: readonly string[], flags: ImpactFlags): Promise<void> =>
  runWithClient(
    flags,
    (client, context) => {
      const place = { client, context };
      return flags.all ? backtest(place, flags) : preview(place, paths, flags);
    },
    { adjust: (config) => ({ ...config, kafka: toImpactClient(config.kafka) }) },
  );

async function preview(place: PreviewPlace, paths: readonly string[], flags: ImpactFlags): Promise<void> {
  const changes =
    flags.topic === undefined
      ? await readFileChanges(place.client, paths)
      : await readTopicChange(place.client, { ...flags, topic: flags.topic });
  if (changes === undefined) {
    process.exitCode = exitCodes.rejected;
    return;
  }
  const result = await previewChanges(place, changes, flags);
  if (flags.json) printJson(result);
  else await printImpact(openOutput(), result);
}

/** Counts the events of every stored topic. */
async function backtest(place: PreviewPlace, flags: ImpactFlags): Promise<void> {
  requireKafkaOrFile(place, flags);
  const counts = new Backtest();
  for await (const topic of readTopics(place.client, {}, { showsCount: true })) counts.addTopic(topic);
  warnInvalidFilters(counts.invalid);
  const { read } = await readSelected(place, counts, flags);
  await printBacktest(openOutput(), { counts, read, json: flags.json === true });
}
