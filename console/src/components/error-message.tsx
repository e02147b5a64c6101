import { ApiError } from "../api.ts";

interface ErrorMessageProps {
  readonly error: unknown;
  readonly retry?: () => void;
}

export function ErrorMessage({ error, retry }: ErrorMessageProps) {
  const message = error instanceof Error ? error.message : "Something went wrong.";
  const detail = error instanceof ApiError ? error.detail : "";
  return (
    <article class="failure">
      <p role="alert">
        <strong>{message}</strong> {detail}
      </p>
      {retry && (
        <button type="button" class="secondary" onClick={retry}>
          Try again
        </button>
      )}
    </article>
  );
}
