import { fewRuns } from "../../../../test/support/runs.ts";
import { testPicker } from "./picker-tests.ts";

testPicker(fewRuns);
