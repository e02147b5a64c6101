import { signInFailures, type SignInFailureReason } from "../../schemas/session.ts";
import { ApiError } from "./api.ts";

const words: Readonly<Record<SignInFailureReason, readonly [message: string, detail: string]>> = {
  declined: ["You are not signed in: it was declined.", "Begin again if you did not mean to."],
  expired: [
    "This sign-in cannot be finished.",
    "It took more than ten minutes, was finished already, or began in another browser. Begin again.",
  ],
  refused: [
    "The OpenID provider's answer was not accepted.",
    "Begin again. If it stays so, whoever runs topicsync finds the reason in its log.",
  ],
  nameless: [
    "The OpenID provider did not say who you are.",
    "Whoever runs topicsync finds in its log which claim is missing.",
  ],
  throttled: ["Too many sign-ins failed lately.", "Try again in five minutes."],
  unavailable: [
    "The OpenID provider does not answer.",
    "Try again in a minute, or sign in with a user and a password.",
  ],
};

/** Why one comes back from the OpenID provider without a session, if so; told once. */
export function takeFailure(): ApiError | undefined {
  const given = new URLSearchParams(location.search).get("sign-in");
  const reason = signInFailures.find((one) => one === given);
  if (reason === undefined) return undefined;
  history.replaceState(null, "", location.pathname);
  const [message, detail] = words[reason];
  return new ApiError(0, { message, detail, details: [] });
}

const place = "topicsync-place";

/** Remembers where one was, before one leaves for the OpenID provider. */
export function leaveFrom(path: string): void {
  sessionStorage.setItem(place, path);
}

/** Goes to where one was, once one is sent back to the console's first address. */
export function comeBack(): void {
  const path = sessionStorage.getItem(place);
  sessionStorage.removeItem(place);
  if (location.pathname === "/console" && path?.startsWith("/console/") === true)
    history.replaceState(null, "", path);
}
