import { testFindings } from "./findings-tests.ts";

testFindings(1_500);
