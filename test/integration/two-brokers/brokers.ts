import { startTwoBrokers } from "../../support/two-brokers.ts";

export const brokers = await startTwoBrokers();
