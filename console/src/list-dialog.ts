import { useState } from "preact/hooks";

/** The dialogs of a list: one is open at a time, and what was done is said on the page. */
export interface ListDialog<T> {
  /** What the open one is about; undefined while none is. */
  readonly open: T | undefined;
  readonly show: (what: T) => void;
  /** What was done last. */
  readonly said: string;
  /** What every dialog is told. */
  readonly ends: { readonly cancelled: () => void; readonly done: (said: string) => void };
}

/** Follows the dialogs of a list; `again` reads it once more when something was done. */
export function useListDialog<T>(again: () => void): ListDialog<T> {
  const [open, setOpen] = useState<T>();
  const [said, setSaid] = useState("");
  return {
    open,
    show: (what) => {
      setOpen(() => what);
    },
    said,
    ends: {
      cancelled: () => {
        setOpen(undefined);
      },
      done: (text) => {
        setOpen(undefined);
        setSaid(text);
        again();
      },
    },
  };
}
