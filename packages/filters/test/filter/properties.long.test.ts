import { manyRuns } from "../../../../test/support/runs.ts";
import { testFilterProperties } from "./properties-tests.ts";

testFilterProperties(manyRuns);
