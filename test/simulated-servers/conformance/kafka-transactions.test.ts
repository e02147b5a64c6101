import { compareTransactions } from "./transactions-comparison.ts";

compareTransactions(2);
