import { useEffect, useState } from "preact/hooks";

import { ApiError, ask } from "./api.ts";
import { useSession } from "./session.ts";

/** What the service answered to a question. */
export interface Asked<T> {
  /** The answer; while another is awaited, the one before. */
  readonly value: T | undefined;
  readonly error: unknown;
  readonly asking: boolean;
  /** Asks once more. */
  readonly again: () => void;
}

/** Asks for what is at a path, and again for each other path; for nothing where there is none. */
export function useQuery<T>(path: string | undefined): Asked<T> {
  const [state, setState] = useState<State<T>>(nothing);
  const [times, setTimes] = useState(0);
  const { leave } = useSession();

  useEffect(() => {
    if (path === undefined) {
      setState(nothing);
      return undefined;
    }
    let isWanted = true;
    setState(({ value }) => ({ path, value, error: undefined, asking: true }));
    ask<T>(path).then(
      (value) => {
        if (isWanted) setState({ path, value, error: undefined, asking: false });
      },
      (error: unknown) => {
        if (!isWanted) return;
        if (isOver(error)) leave("over");
        else setState({ path, value: undefined, error, asking: false });
      },
    );
    return () => {
      isWanted = false;
    };
  }, [path, times]);

  const { value, error, asking } = state;
  return {
    value,
    error,
    // Another path is asked for only after it was shown that it will be.
    asking: asking || state.path !== path,
    again: () => {
      setTimes((before) => before + 1);
    },
  };
}

/** The answer, and the path that it was asked for at last. */
type State<T> = Omit<Asked<T>, "again"> & { readonly path: string | undefined };

const nothing = { path: undefined, value: undefined, error: undefined, asking: false } as const;

/** Whether the service refused because nobody is signed in any more. */
export const isOver = (error: unknown): boolean => error instanceof ApiError && error.status === 401;

/** Something that is done when asked to: what came of it. */
export interface Doing {
  readonly error: unknown;
  readonly busy: boolean;
  /** Does it; `done` is called when it went well. */
  readonly start: <T>(work: () => Promise<T>, done: (result: T) => void) => void;
}

/** Follows what is done for the user: one thing at a time. */
export function useAction(): Doing {
  const [state, setState] = useState<Pick<Doing, "error" | "busy">>({ error: undefined, busy: false });
  const { leave } = useSession();
  return {
    ...state,
    start: (work, done) => {
      setState({ error: undefined, busy: true });
      work().then(
        (result) => {
          setState({ error: undefined, busy: false });
          done(result);
        },
        (error: unknown) => {
          if (isOver(error)) leave("over");
          else setState({ error, busy: false });
        },
      );
    },
  };
}
