import { useEffect, useState } from "preact/hooks";

import { api, ApiError } from "./api.ts";
import { useSession } from "./session.ts";

/** The state of a GET request. */
interface QueryState<T> {
  /** The latest response; the previous one while another is loading. */
  readonly value: T | undefined;
  readonly error: unknown;
  readonly loading: boolean;
  readonly refetch: () => void;
}

/** The state, and the path that was requested last. */
type State<T> = Omit<QueryState<T>, "refetch"> & { readonly path: string | undefined };

const idle = { path: undefined, value: undefined, error: undefined, loading: false } as const;

/** Requests a path, and again whenever it changes; nothing while it is undefined. */
export function useQuery<T>(path: string | undefined): QueryState<T> {
  const [state, setState] = useState<State<T>>(idle);
  const [attempt, setAttempt] = useState(0);
  const { expire } = useSession();

  useEffect(() => {
    if (path === undefined) {
      setState(idle);
      return undefined;
    }
    let isCurrent = true;
    setState(({ value }) => ({ path, value, error: undefined, loading: true }));
    api.get<T>(path).then(
      (value) => {
        if (isCurrent) setState({ path, value, error: undefined, loading: false });
      },
      (error: unknown) => {
        if (!isCurrent) return;
        if (isSessionExpired(error)) expire();
        else setState({ path, value: undefined, error, loading: false });
      },
    );
    return () => {
      isCurrent = false;
    };
  }, [path, attempt]);

  const { value, error, loading } = state;
  return {
    value,
    error,
    // The effect starts a new request only after this render.
    loading: loading || state.path !== path,
    refetch: () => {
      setAttempt((before) => before + 1);
    },
  };
}

export const isSessionExpired = (error: unknown): boolean =>
  error instanceof ApiError && error.status === 401;

/** The state of something that the user started. */
export interface Action {
  readonly error: unknown;
  readonly busy: boolean;
  /** Runs it; `onDone` is called if it succeeds. */
  readonly run: <T>(work: () => Promise<T>, onDone: (result: T) => void) => void;
}

/** Tracks one action at a time. */
export function useAction(): Action {
  const [state, setState] = useState<Pick<Action, "error" | "busy">>({ error: undefined, busy: false });
  const { expire } = useSession();
  return {
    ...state,
    run: (work, onDone) => {
      setState({ error: undefined, busy: true });
      work().then(
        (result) => {
          setState({ error: undefined, busy: false });
          onDone(result);
        },
        (error: unknown) => {
          if (isSessionExpired(error)) expire();
          else setState({ error, busy: false });
        },
      );
    },
  };
}
