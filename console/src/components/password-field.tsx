import { useState } from "preact/hooks";

import { minPasswordLength } from "../../../schemas/user.ts";

interface PasswordFieldProps {
  /** "Password" if absent. */
  readonly label?: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** A new password. It can be shown, as it is typed only once. */
export function PasswordField({ label = "Password", value, onChange }: PasswordFieldProps) {
  const [isShown, setIsShown] = useState(false);
  return (
    <>
      <label>
        {label}
        <input
          type={isShown ? "text" : "password"}
          autocomplete="new-password"
          spellcheck={false}
          required
          minLength={minPasswordLength}
          maxLength={1024}
          aria-describedby="password-rule"
          value={value}
          onInput={(event) => {
            onChange(event.currentTarget.value);
          }}
        />
      </label>
      <small id="password-rule">At least {minPasswordLength} characters.</small>
      <label>
        <input
          type="checkbox"
          checked={isShown}
          onChange={(event) => {
            setIsShown(event.currentTarget.checked);
          }}
        />
        Show password
      </label>
    </>
  );
}
