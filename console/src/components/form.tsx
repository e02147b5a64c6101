import type { JSX } from "preact";

interface FormProps extends Omit<JSX.IntrinsicElements["form"], "onSubmit"> {
  readonly onSubmit: () => void;
}

/** A form that scripts submit. */
export const Form = ({ onSubmit, ...form }: FormProps) => (
  <form
    {...form}
    onSubmit={(event) => {
      event.preventDefault();
      onSubmit();
    }}
  />
);
