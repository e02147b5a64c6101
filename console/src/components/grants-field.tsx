import { useState } from "preact/hooks";

import { isGrant, roles } from "../../../schemas/rights.ts";

/** What each role allows. Every user can register push tokens and see the overview. */
const knownRoles = [
  {
    role: roles.eventManagement,
    name: "Topics",
    description: "Can see and change topics and dead letters, and use the picker.",
  },
  {
    role: roles.pushAdmin,
    name: "Push tokens",
    description: "Can see and deactivate the push tokens of all users.",
  },
  {
    role: roles.admin,
    name: "Administration",
    description: "Can manage users, API keys, applications and platforms.",
  },
] as const;

const isKnownRole = (one: string): boolean => knownRoles.some(({ role }) => role === one);

/** Returns the name of a role, or a right itself. */
export const getRoleName = (role: string): string =>
  knownRoles.find((known) => known.role === role)?.name ?? role;

interface GrantsFieldProps {
  readonly selected: readonly string[];
  readonly onChange: (selected: readonly string[]) => void;
  /** Whether they belong to the signed-in user. */
  readonly isSelf?: boolean;
}

/** The roles and rights of a user or key. */
export function GrantsField({ selected, onChange, isSelf = false }: GrantsFieldProps) {
  const unknown = selected.filter((one) => !isKnownRole(one) && !isGrant(one));
  // What was unknown at first stays a checkbox; what is typed stays in the text.
  const [strange] = useState(unknown);
  const [text, setText] = useState(() =>
    selected.filter((one) => isGrant(one) && !isKnownRole(one)).join("\n"),
  );
  const options = [
    ...knownRoles,
    ...strange.map((role) => ({ role, name: role, description: "Unknown to topicsync; it allows nothing." })),
  ];
  const isOption = (one: string): boolean => options.some(({ role }) => role === one);
  return (
    <fieldset class="roles">
      <legend>Roles</legend>
      {options.map(({ role, name, description }) => {
        const isLocked = isSelf && role === roles.admin;
        return (
          <label key={role}>
            <input
              type="checkbox"
              checked={selected.includes(role)}
              disabled={isLocked}
              onChange={({ currentTarget: { checked } }) => {
                onChange(checked ? [...selected, role] : selected.filter((one) => one !== role));
              }}
            />
            {name}
            <small>
              {description}
              {isLocked && " You cannot remove this role from yourself; another administrator can."}
            </small>
          </label>
        );
      })}
      <label>
        Rights, one per line
        <textarea
          rows={3}
          spellcheck={false}
          placeholder="topics.read@assurance.*"
          value={text}
          onInput={({ currentTarget: { value } }) => {
            setText(value);
            const typed = value.split("\n").filter((line) => line !== "");
            onChange([...new Set([...selected.filter(isOption), ...typed])]);
          }}
        />
      </label>
    </fieldset>
  );
}
