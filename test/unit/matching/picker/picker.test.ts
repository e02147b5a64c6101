import { fewRuns } from "../../../support/runs.ts";
import { testPicker } from "./picker-tests.ts";

testPicker(fewRuns);
