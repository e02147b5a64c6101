import type { Mutant } from "./mutant.ts";
import { registrationsMutants } from "./registrations.ts";
import { routerMutants } from "./router.ts";
import { syncMutants } from "./sync.ts";

export type { Mutant };
export const mutants: readonly Mutant[] = [...syncMutants, ...registrationsMutants, ...routerMutants];
