import type { Mutant } from "./mutant.ts";
import { registrationsMutants } from "./registrations.ts";
import { routerEgressMutants } from "./router-egress.ts";
import { routerIndexMutants } from "./router-index.ts";
import { routerMutants } from "./router.ts";
import { syncKafkaMutants } from "./sync-kafka.ts";
import { syncPositionMutants } from "./sync-positions.ts";
import { syncMutants } from "./sync.ts";
import { syncVersionMutants } from "./sync-versions.ts";
import { syncTopicMutants } from "./sync-topics.ts";

export type { Mutant };
export const mutants: readonly Mutant[] = [
  ...syncMutants,
  ...syncPositionMutants,
  ...syncKafkaMutants,
  ...syncTopicMutants,
  ...syncVersionMutants,
  ...registrationsMutants,
  ...routerMutants,
  ...routerEgressMutants,
  ...routerIndexMutants,
];
