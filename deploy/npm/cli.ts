#!/usr/bin/env -S node --max-semi-space-size=16
/**
 * The entry of the published program. Node keeps the compiled code in the folder of the program, which only
 * its owner can write: the system's folder for temporary files, Node's default, is shared with other users.
 */
import module from "node:module";
import { join } from "node:path";

// Older versions of Node, which run some of the commands, do not have this function.
(module as Partial<typeof module>).enableCompileCache?.(join(import.meta.dirname, "compile-cache"));
await import("../../src/cli.ts");
