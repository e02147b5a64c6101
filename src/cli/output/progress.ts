import { progress as animated } from "@clack/prompts";

/** Shows how far something long has come. */
export interface Progress {
  /** `done` of the total. */
  at(done: number): void;
  /** Ends it with a last line. */
  end(text: string): void;
}

/**
 * A bar on a terminal; a line at each quarter where the output goes to a file or a pipe, and where the input comes from one:
 * the bar listens to the keyboard, and would swallow what a command reads.
 */
export function createProgress(
  title: string,
  total: number,
  output: NodeJS.WriteStream = process.stdout,
): Progress {
  return output.isTTY && process.stdin.isTTY ? bar(title, total, output) : lines(title, total, output);
}

/** The progress of something that is long only where there is much of it; nothing is shown below `long`, nor after its end. */
export function createLongProgress(title: string, total: number, long: number): Progress {
  const shown = total < long ? undefined : createProgress(title, total, process.stderr);
  let isOpen = true;
  let next = 0;
  return {
    at(done) {
      if (!isOpen || done < next) return;
      next = done + total / 1_000;
      shown?.at(Math.min(Math.round(done), total));
    },
    end(text) {
      if (isOpen) shown?.end(text);
      isOpen = false;
    },
  };
}

/** The progress of reading all stored topics: a few thousand take no time. */
export const createTopicProgress = (title: string, topics: number): Progress =>
  createLongProgress(title, topics, 10_000);

function bar(title: string, total: number, output: NodeJS.WriteStream): Progress {
  const shown = animated({ max: Math.max(total, 1), output });
  let before = 0;
  shown.start(title);
  return {
    at(done) {
      shown.advance(done - before, `${title}: ${done} of ${total}`);
      before = done;
    },
    end: (text) => {
      shown.stop(text);
    },
  };
}

function lines(title: string, total: number, output: NodeJS.WriteStream): Progress {
  let quarter = 0;
  return {
    at(done) {
      const reached = Math.floor((4 * done) / Math.max(total, 1));
      if (reached <= quarter) return;
      quarter = reached;
      output.write(`  ${title}: ${done} of ${total}\n`);
    },
    end: (text) => void output.write(`  ${text}\n`),
  };
}
