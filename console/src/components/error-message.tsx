import { ApiError } from "../api.ts";

/** Says what went wrong, and what to do next. */
export function Failure({ error, again }: { readonly error: unknown; readonly again?: () => void }) {
  const message = error instanceof Error ? error.message : "Something went wrong.";
  const detail = error instanceof ApiError ? error.detail : "";
  return (
    <article class="failure">
      <p role="alert">
        <strong>{message}</strong> {detail}
      </p>
      {again && (
        <button type="button" class="secondary" onClick={again}>
          Try again
        </button>
      )}
    </article>
  );
}
