import type { ComponentChildren } from "preact";

/** A row of numbers, each with its name. */
export const Figures = ({ children }: { readonly children: ComponentChildren }) => (
  <div class="figures">{children}</div>
);

export const Figure = ({ name, value }: { readonly name: string; readonly value: ComponentChildren }) => (
  <div>
    <span class="value">{value}</span>
    <span class="name">{name}</span>
  </div>
);
