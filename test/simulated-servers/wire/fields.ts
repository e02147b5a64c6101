/** Runs of fields that several messages have. */
import {
  compactList,
  compactString,
  int16,
  int32,
  int64,
  list,
  string,
  struct,
  tagged,
  type Fields,
} from "./format.ts";

export const topicsWith = <F extends Fields>(partition: F) =>
  list(struct({ topic: string, partitions: list(struct(partition)) }));
export const topicsWithNumbers = list(struct({ topic: string, partitions: list(int32) }));
export const compactTopicsWith = <F extends Fields>(partition: F) =>
  compactList(tagged({ topic: compactString, partitions: compactList(tagged(partition)) }));

export const throttle = int32;
export const error = int16;
export const outcome = struct({ throttle, error });
export const transaction = { transactionalId: string, producerId: int64, producerEpoch: int16 };
