import { startTwoBrokers } from "../../support/two-brokers.ts";

/** A broker that computes for long keeps its partitions. */
export const brokers = await startTwoBrokers({ settings: ["broker.session.timeout.ms=60000"] });
