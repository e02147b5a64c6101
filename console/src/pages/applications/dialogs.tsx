import { useState } from "preact/hooks";

import { ask } from "../../api.ts";
import { ConfirmedWork } from "../../components/confirm-dialog.tsx";
import { kinds, ruleTexts, type Kind, type NamedView } from "./catalog.ts";

interface DialogProps {
  readonly kind: Kind;
  /** Told what was done. */
  readonly done: (said: string) => void;
  readonly cancelled: () => void;
}

interface NamedDialogProps extends DialogProps {
  readonly named: NamedView;
}

const pathOf = (kind: Kind, { name }: NamedView, what: string): string =>
  `${kinds[kind].path}/${encodeURIComponent(name)}/${what}`;

/** Asks for a new one. */
export function AddName({ kind, done, cancelled }: DialogProps) {
  const { path, one } = kinds[kind];
  const [name, setName] = useState("");
  const [rule, setRule] = useState("");
  return (
    <ConfirmedWork
      question={`Add ${withArticle(one)}`}
      action="Add"
      work={() => ask(path, { name, ...(rule === "" ? {} : { tokenRule: rule }) })}
      done={() => {
        done(`Added ${name}.`);
      }}
      cancelled={cancelled}
    >
      <label>
        Name
        <input
          autocomplete="off"
          spellcheck={false}
          required
          maxLength={256}
          pattern="\S(.*\S)?"
          title="A name without a space at either end"
          value={name}
          onInput={(event) => {
            setName(event.currentTarget.value);
          }}
        />
        <small>As it is sent with a token: capitals and spaces count. It cannot be changed later.</small>
      </label>
      {kind === "platforms" && <RuleField value={rule} change={setRule} />}
    </ConfirmedWork>
  );
}

/** Asks for a platform's token rule. */
export function ChangeRule({ kind, named, done, cancelled }: NamedDialogProps) {
  const [rule, setRule] = useState(named.tokenRule ?? "");
  return (
    <ConfirmedWork
      question={`Token rule of ${named.name}`}
      action="Save"
      work={() => ask(pathOf(kind, named, "rule"), { tokenRule: rule === "" ? null : rule })}
      done={() => {
        done(`${named.name} has another token rule now.`);
      }}
      cancelled={cancelled}
    >
      <RuleField value={rule} change={setRule} />
    </ConfirmedWork>
  );
}

/** Asks whether one is to be disabled, or enabled again. */
export function SwitchName({ kind, named, done, cancelled }: NamedDialogProps) {
  const { name, active } = named;
  return (
    <ConfirmedWork
      question={`${active ? "Disable" : "Enable"} ${name}?`}
      action={active ? "Disable" : "Enable"}
      work={() => ask(pathOf(kind, named, active ? "disable" : "enable"), {})}
      done={() => {
        done(`${name} is ${active ? "disabled" : "enabled"}.`);
      }}
      cancelled={cancelled}
    >
      <p>
        {active
          ? "Its apps can neither register nor remove tokens any more. The tokens that are there stay as they are."
          : "Tokens can be registered for it again."}
      </p>
    </ConfirmedWork>
  );
}

interface RuleFieldProps {
  readonly value: string;
  readonly change: (value: string) => void;
}

/** A rule that this page does not know can stand in a record; it stays unless another is chosen. */
const RuleField = ({ value, change }: RuleFieldProps) => (
  <label>
    Token rule
    <select
      value={value}
      onChange={(event) => {
        change(event.currentTarget.value);
      }}
    >
      {Object.entries(ruleTexts).map(([rule, text]) => (
        <option key={rule} value={rule}>
          {text}
        </option>
      ))}
    </select>
    <small>It holds for what is registered from now on.</small>
  </label>
);

const withArticle = (one: string): string => `${/^[aeiou]/.test(one) ? "an" : "a"} ${one}`;
