import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";

/** A page whose heading is the document title as well. */
export function Page({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  useEffect(() => {
    document.title = `${name} · topicsync`;
  }, [name]);
  return (
    <>
      <h1>{name}</h1>
      {children}
    </>
  );
}
