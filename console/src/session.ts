import { createContext } from "preact";
import { useContext } from "preact/hooks";

import type { Right } from "../../schemas/rights.ts";
import type { SessionView } from "../../schemas/session.ts";

interface SessionState {
  readonly session: SessionView;
  readonly signOut: () => void;
  /** Continues in another session of the user. */
  readonly renew: (session: SessionView) => void;
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

/** Whether the user has a right, perhaps in some namespaces only. */
export const useRight = (right: Right): boolean => useSession().session.rights.includes(right);
