import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

/** What is known of the repository that a command runs in. */
export interface Repository {
  /** The folder that the paths of files are relative to. */
  readonly root: string;
  /** Where it is hosted, without protocol, credentials and `.git`. */
  readonly origin: string | undefined;
  readonly revision: string | undefined;
}

/** Asks git, and the variables that GitHub and GitLab set. Without git, the root is the working directory. */
export async function findRepository(environment: NodeJS.ProcessEnv = process.env): Promise<Repository> {
  const [root, remote, revision] = await Promise.all([
    git("rev-parse", "--show-toplevel"),
    git("config", "--get", "remote.origin.url"),
    git("rev-parse", "HEAD"),
  ]);
  return {
    root: root ?? process.cwd(),
    origin: remote === undefined ? undefined : toRepositoryOrigin(remote),
    revision: environment["GITHUB_SHA"] ?? environment["CI_COMMIT_SHA"] ?? revision,
  };
}

async function git(...args: string[]): Promise<string | undefined> {
  try {
    return (await run("git", args)).stdout.trim() || undefined;
  } catch {
    return undefined;
  }
}

/** `git@host:team/topics.git` and `https://user:token@host/team/topics` are both `host/team/topics`. */
export const toRepositoryOrigin = (remote: string): string =>
  remote
    .replace(/^[a-z+]+:\/\//i, "")
    .replace(/^[^@/]*@/, "")
    .replace(/^([^/:]+):(?!\d+\/)/, "$1/")
    .replace(/\/+$/, "")
    .replace(/\.git$/, "");
