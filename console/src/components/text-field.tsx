import type { JSX } from "preact";

interface TextFieldProps extends Omit<JSX.IntrinsicElements["input"], "value" | "onInput" | "onChange"> {
  readonly label: string;
  readonly hint?: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** A text input for names and ids: no completion, no spell check. */
export const TextField = ({ label, hint, value, onChange, ...input }: TextFieldProps) => (
  <label>
    {label}
    <input
      autocomplete="off"
      spellcheck={false}
      {...input}
      value={value}
      onInput={(event) => {
        onChange(event.currentTarget.value);
      }}
    />
    {hint !== undefined && <small>{hint}</small>}
  </label>
);
