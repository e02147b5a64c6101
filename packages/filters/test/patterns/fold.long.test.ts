import { testFolding } from "./fold-tests.ts";

testFolding(0x10_ffff);
