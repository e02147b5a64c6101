import { roles } from "../../../../schemas/roles.ts";

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
  { role: roles.admin, name: "Administration", description: "Can manage users, applications and platforms." },
] as const;

/** Returns the name of a role, or an unknown role itself. */
export const getRoleName = (role: string): string =>
  knownRoles.find((known) => known.role === role)?.name ?? role;

interface RoleCheckboxesProps {
  readonly selected: readonly string[];
  readonly onChange: (selected: readonly string[]) => void;
  /** Whether they belong to the signed-in user. */
  readonly isSelf?: boolean;
}

export function RoleCheckboxes({ selected, onChange, isSelf = false }: RoleCheckboxesProps) {
  const unknown = selected.filter((one) => !knownRoles.some(({ role }) => role === one));
  const options = [
    ...knownRoles,
    ...unknown.map((role) => ({ role, name: role, description: "Unknown to topicsync; it allows nothing." })),
  ];
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
    </fieldset>
  );
}
