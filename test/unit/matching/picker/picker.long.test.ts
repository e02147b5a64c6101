import { manyRuns } from "../../../support/runs.ts";
import { testPicker } from "./picker-tests.ts";

testPicker(manyRuns);
