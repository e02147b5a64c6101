import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

import { useAction, type Action } from "../query.ts";
import { ErrorMessage } from "./error-message.tsx";
import { Form } from "./form.tsx";

interface ConfirmDialogProps {
  readonly title: string;
  readonly children: ComponentChildren;
  readonly confirmLabel: string;
  readonly action: Pick<Action, "error" | "busy">;
  readonly canConfirm?: boolean;
  readonly onConfirm: () => void;
  readonly onCancel: () => void;
}

/** A modal dialog that is open while it is rendered. Escape and "Cancel" call `onCancel`. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  const { title, children, confirmLabel, action, canConfirm = true, onConfirm, onCancel } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const element = dialog.current;
    element?.showModal();
    // Closing it returns the focus to where it was.
    return () => element?.close();
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby="dialog-title" onClose={onCancel}>
      <article>
        <Form onSubmit={onConfirm}>
          <h2 id="dialog-title">{title}</h2>
          {children}
          {action.error !== undefined && <ErrorMessage error={action.error} />}
          <footer>
            <button type="button" class="secondary" onClick={onCancel}>
              Cancel
            </button>
            <button type="submit" aria-busy={action.busy} disabled={action.busy || !canConfirm}>
              {confirmLabel}
            </button>
          </footer>
        </Form>
      </article>
    </dialog>
  );
}

interface ActionDialogProps<T> extends Omit<ConfirmDialogProps, "action" | "onConfirm"> {
  readonly run: () => Promise<T>;
  readonly onDone: (result: T) => void;
}

/**
 * A dialog that runs an action when confirmed. If the action fails, the dialog stays open and shows the
 * error.
 */
export function ActionDialog<T>({ run, onDone, ...dialog }: ActionDialogProps<T>) {
  const action = useAction();
  return (
    <ConfirmDialog
      {...dialog}
      action={action}
      onConfirm={() => {
        action.run(run, onDone);
      }}
    />
  );
}
