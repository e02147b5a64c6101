import { useState } from "preact/hooks";

/** The dialogs of a list. At most one is open at a time. */
interface ListDialog<T> {
  readonly open: T | undefined;
  readonly show: (dialog: T) => void;
  /** The result of the last dialog, shown on the page. */
  readonly notice: string;
  /** Props of every dialog. */
  readonly handlers: { readonly onCancel: () => void; readonly onDone: (notice: string) => void };
}

/** Calls `refetch` after each dialog that changed something. */
export function useListDialog<T>(refetch: () => void): ListDialog<T> {
  const [open, setOpen] = useState<T>();
  const [notice, setNotice] = useState("");
  return {
    open,
    show: (dialog) => {
      setOpen(() => dialog);
    },
    notice,
    handlers: {
      onCancel: () => {
        setOpen(undefined);
      },
      onDone: (text) => {
        setOpen(undefined);
        setNotice(text);
        refetch();
      },
    },
  };
}
