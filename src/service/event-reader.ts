import { decodeEventText } from "../../consumers/events/decode.ts";
import { RejectionError } from "../lib/errors.ts";
import type { DecodedEvent } from "../routing/event.ts";

/** Reads the text of an event as the router does; returns the rejection of what is not one. */
export function readEvent(text: string): DecodedEvent | RejectionError {
  try {
    return decodeEventText(text);
  } catch (error) {
    if (error instanceof RejectionError) return error;
    throw error;
  }
}
