import { manyRuns } from "../../../../test/support/runs.ts";
import { testRandomImplications } from "./implication-tests.ts";

testRandomImplications(manyRuns);
