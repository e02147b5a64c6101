import { progress as animated } from "@clack/prompts";

/** Shows the progress of a long command. */
export interface Progress {
  /** Reports that `done` of the total are done. */
  at(done: number): void;
  /** Ends with a last line. */
  end(text: string): void;
}

/**
 * Shows a bar on a terminal, else a line at each quarter. The bar listens to the keyboard and would swallow
 * piped input, so it needs a terminal as input too.
 */
export function createProgress(
  title: string,
  total: number,
  output: NodeJS.WriteStream = process.stdout,
): Progress {
  return output.isTTY && process.stdin.isTTY ? bar(title, total, output) : lines(title, total, output);
}

/** Shows progress only if the total is at least `minTotal`. */
export function createLongProgress(title: string, total: number, minTotal: number): Progress {
  const shown = total < minTotal ? undefined : createProgress(title, total, process.stderr);
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
