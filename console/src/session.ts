import { createContext } from "preact";
import { useContext } from "preact/hooks";

import type { SessionView } from "../../schemas/session.ts";

/** Who is signed in, and how they stop being it. */
export interface SignedIn {
  readonly session: SessionView;
  /** Ends the session; `over` when the service said that it has ended. */
  readonly leave: (how?: "over") => void;
}

export const SessionContext = createContext<SignedIn | undefined>(undefined);

/** Who is signed in. Only for what is shown to those who are. */
export function useSession(): SignedIn {
  const signedIn = useContext(SessionContext);
  if (signedIn === undefined) throw new Error("nobody is signed in");
  return signedIn;
}
