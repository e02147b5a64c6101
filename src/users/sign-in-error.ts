import type { SignInFailureReason } from "../../schemas/session.ts";

/** Somebody did not get in by way of the OpenID provider. The message is for the log, the reason for them. */
export class SignInError extends Error {
  override readonly name = "SignInError";
  readonly reason: SignInFailureReason;

  constructor(reason: SignInFailureReason, message: string, cause?: unknown) {
    super(message, { cause });
    this.reason = reason;
  }
}
