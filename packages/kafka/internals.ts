/** For tests, benchmarks and the demo, which use kafkajs themselves. */
export { findDurabilityFaults } from "./admin/topic-checks.ts";
export { toOffsets, toPosition } from "./committed-position.ts";
export { findDenial } from "./errors.ts";
export { type RequestTarget, failOnError, sendRequest } from "./protocol/request.ts";
export { requestOpenPartitions } from "./protocol/transactions.ts";
export { toLogRecord } from "./record-format/batch-reader.ts";
export { toHeaderList, toIHeaders } from "./record-format/headers.ts";
export { createRequests } from "./requests.ts";
export type { Sockets } from "./sockets.ts";
export { boundFetches } from "./workarounds/bounded-fetches.ts";
export { createCluster, throwGroupDenials } from "./workarounds/clusters.ts";
export { fetchByTopicId } from "./workarounds/fetches.ts";
export { loadPrivate } from "./workarounds/patch.ts";
export { stopIdleChecks } from "./workarounds/connections.ts";
