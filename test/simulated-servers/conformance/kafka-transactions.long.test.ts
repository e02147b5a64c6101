import { compareTransactions } from "./transactions-comparison.ts";

compareTransactions(20);
