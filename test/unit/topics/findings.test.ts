import { testFindings } from "./findings-tests.ts";

testFindings(300);
