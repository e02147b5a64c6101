import { useState } from "preact/hooks";

import { minPasswordLength } from "../../../../schemas/user.ts";

interface PasswordFieldProps {
  readonly value: string;
  readonly change: (value: string) => void;
}

/** A password that is to be set; it can be shown, since nobody types it twice. */
export function PasswordField({ value, change }: PasswordFieldProps) {
  const [isShown, setIsShown] = useState(false);
  return (
    <>
      <label>
        Password
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
            change(event.currentTarget.value);
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
        Show what I type
      </label>
    </>
  );
}
