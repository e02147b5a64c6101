import { roles } from "../../../../schemas/roles.ts";

/** The roles in words: what each allows beyond registering push tokens and looking at the overview, which every user may. */
export const roleTexts = [
  {
    role: roles.eventManagement,
    name: "Topics",
    allows: "Sees and changes topics and dead letters, and uses the picker.",
  },
  { role: roles.pushAdmin, name: "Push tokens", allows: "Sees and deactivates everybody's push tokens." },
  { role: roles.admin, name: "Administration", allows: "Manages users, applications and platforms." },
] as const;

/** A role's name; itself where nobody knows it. */
export const roleName = (given: string): string =>
  roleTexts.find(({ role }) => role === given)?.name ?? given;

interface RoleBoxesProps {
  readonly chosen: readonly string[];
  readonly change: (chosen: readonly string[]) => void;
  /** Whether they are the reader's own. */
  readonly own?: boolean;
}

/** Boxes to choose roles by. */
export function RoleBoxes({ chosen, change, own = false }: RoleBoxesProps) {
  const unknown = chosen.filter((one) => !roleTexts.some(({ role }) => role === one));
  const texts = [
    ...roleTexts,
    ...unknown.map((role) => ({ role, name: role, allows: "Nothing: topicsync does not know it." })),
  ];
  return (
    <fieldset class="roles">
      <legend>Roles</legend>
      {texts.map(({ role, name, allows }) => {
        const isLocked = own && role === roles.admin;
        return (
          <label key={role}>
            <input
              type="checkbox"
              checked={chosen.includes(role)}
              disabled={isLocked}
              onChange={({ currentTarget: { checked } }) => {
                change(checked ? [...chosen, role] : chosen.filter((one) => one !== role));
              }}
            />
            {name}
            <small>
              {allows}
              {isLocked && " You cannot take it from yourself; another administrator can."}
            </small>
          </label>
        );
      })}
    </fieldset>
  );
}
