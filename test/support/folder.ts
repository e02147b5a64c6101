import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";

/** Creates a folder, removed after the tests of this file. */
export function useFolder() {
  const path = mkdtempSync(join(tmpdir(), "topicsync-test-"));
  after(() => {
    rmSync(path, { recursive: true, force: true });
  });
  return {
    path,
    /** Writes a file into the folder and returns its path. */
    createFile(name: string, content: string): string {
      const file = join(path, name);
      writeFileSync(file, content);
      return file;
    },
  };
}
