import { manyRuns } from "../../../support/runs.ts";
import { testFilterProperties } from "./properties-tests.ts";

testFilterProperties(manyRuns);
