import { createContext } from "preact";
import { useContext } from "preact/hooks";

import type { SessionView } from "../../schemas/session.ts";

interface SessionState {
  readonly session: SessionView;
  readonly signOut: () => void;
  /** Shows the sign-in page, after the session has ended. */
  readonly expire: (notice?: string) => void;
}

export const SessionContext = createContext<SessionState | undefined>(undefined);

/** The current session. Only for components that are shown to signed-in users. */
export function useSession(): SessionState {
  const state = useContext(SessionContext);
  if (state === undefined) throw new Error("useSession needs a SessionContext");
  return state;
}
