import { manyRuns } from "../../../support/runs.ts";
import { testRandomImplications } from "./implication-tests.ts";

testRandomImplications(manyRuns);
