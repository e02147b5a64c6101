import { manyRuns } from "../../../../test/support/runs.ts";
import { testTextPatterns } from "./text-patterns-tests.ts";

testTextPatterns(manyRuns);
