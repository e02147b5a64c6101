import { progress as animated } from "@clack/prompts";

/** Shows how far something long has come. */
export interface Progress {
  /** `done` of the total. */
  at(done: number): void;
  /** Ends it with a last line. */
  end(text: string): void;
}

/** A bar on a terminal; a line at each quarter where the output goes to a file or a pipe. */
export function createProgress(
  title: string,
  total: number,
  output: NodeJS.WriteStream = process.stdout,
): Progress {
  return output.isTTY ? bar(title, total, output) : lines(title, total, output);
}

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
