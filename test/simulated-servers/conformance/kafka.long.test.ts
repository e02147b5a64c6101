import { compareKafka } from "./kafka-comparison.ts";

compareKafka(20);
