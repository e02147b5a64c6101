import { signInFailures, type SignInFailureReason } from "../../schemas/session.ts";
import { ApiError } from "./api.ts";
import { consolePath } from "./base.ts";

const messages: Readonly<Record<SignInFailureReason, readonly [message: string, detail: string]>> = {
  declined: ["The sign-in was declined.", "Try again if you did not mean to decline it."],
  expired: [
    "This sign-in has expired.",
    "It took more than ten minutes, was already completed, or began in another browser. Please try again.",
  ],
  rejected: [
    "The OpenID provider's response was not accepted.",
    "Please try again. If it fails again, an administrator can find the reason in the log of topicsync.",
  ],
  nameless: [
    "The OpenID provider did not send your user name.",
    "The log of topicsync names the missing claim.",
  ],
  throttled: ["Too many failed sign-ins.", "Try again in five minutes."],
  unavailable: [
    "The OpenID provider does not respond.",
    "Try again in a minute, or sign in with user and password.",
  ],
};

/** Returns why the OpenID sign-in failed, once: the reason is removed from the address. */
export function takeSignInError(): ApiError | undefined {
  const given = new URLSearchParams(location.search).get("sign-in");
  const reason = signInFailures.find((one) => one === given);
  if (reason === undefined) return undefined;
  history.replaceState(null, "", location.pathname);
  const [message, detail] = messages[reason];
  return new ApiError(0, { message, detail, details: [] });
}

const storageKey = "topicsync-page";

/** Remembers the page before the browser leaves for the OpenID provider. */
export function rememberPage(path: string): void {
  sessionStorage.setItem(storageKey, path);
}

/** Returns to the remembered page after the OpenID provider has redirected to the console. */
export function returnToPage(): void {
  const path = sessionStorage.getItem(storageKey);
  sessionStorage.removeItem(storageKey);
  if (location.pathname === consolePath && path?.startsWith(`${consolePath}/`) === true)
    history.replaceState(null, "", path);
}
