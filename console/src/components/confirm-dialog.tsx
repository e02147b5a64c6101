import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

import { useAction, type Doing } from "../query.ts";
import { Failure } from "./error-message.tsx";

interface ConfirmProps {
  /** What is asked: "Replay 12 dead letters?" */
  readonly question: string;
  /** What it means, and whatever else has to be known for it. */
  readonly children: ComponentChildren;
  /** The button's text: what is done. */
  readonly action: string;
  readonly doing: Pick<Doing, "error" | "busy">;
  /** False while it cannot be done at all. */
  readonly possible?: boolean;
  readonly confirmed: () => void;
  readonly cancelled: () => void;
}

/** Asks before something is done. It is there while it is asked; Escape and "Cancel" leave all as it is. */
export function Confirm(props: ConfirmProps) {
  const { question, children, action, doing, possible = true, confirmed, cancelled } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    // Closed, it gives the focus back to where it was.
    return () => shown?.close();
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby="question" onClose={cancelled}>
      <article>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            confirmed();
          }}
        >
          <h2 id="question">{question}</h2>
          {children}
          {doing.error !== undefined && <Failure error={doing.error} />}
          <footer>
            <button type="button" class="secondary" onClick={cancelled}>
              Cancel
            </button>
            <button type="submit" aria-busy={doing.busy} disabled={doing.busy || !possible}>
              {action}
            </button>
          </footer>
        </form>
      </article>
    </dialog>
  );
}

interface ConfirmedWorkProps<T> extends Omit<ConfirmProps, "doing" | "confirmed"> {
  readonly work: () => Promise<T>;
  /** Told what came of it. */
  readonly done: (result: T) => void;
}

/** Asks before something is done, and does it. When that fails the question stays, and says why. */
export function ConfirmedWork<T>({ work, done, ...asked }: ConfirmedWorkProps<T>) {
  const doing = useAction();
  return (
    <Confirm
      {...asked}
      doing={doing}
      confirmed={() => {
        doing.start(work, done);
      }}
    />
  );
}
