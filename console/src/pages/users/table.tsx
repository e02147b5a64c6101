import type { UserView } from "../../../../schemas/user.ts";
import { Table } from "../../components/table.tsx";
import { roleName } from "./roles.tsx";

/** What can be done with a user. */
export type UserAct = "roles" | "password" | "switch";

interface UserTableProps {
  readonly users: readonly UserView[];
  /** Who looks at it. */
  readonly reader: string;
  readonly act: (act: UserAct, user: UserView) => void;
}

/** The users, and what can be done with each. */
export const UserTable = ({ users, reader, act }: UserTableProps) => (
  <Table label="Users" columns={["Name", "Roles", "State", "Actions"]}>
    {users.map((user) => {
      const { name, roles, active } = user;
      const button = (what: UserAct, text: string) => (
        <button
          type="button"
          class="small outline"
          aria-label={`${text} of ${name}`}
          onClick={() => {
            act(what, user);
          }}
        >
          {text}
        </button>
      );
      return (
        <tr key={name}>
          <th scope="row">
            {name}
            {name === reader && <small> (you)</small>}
          </th>
          <td>{roles.length === 0 ? "–" : roles.map(roleName).join(", ")}</td>
          <td>{active ? "active" : "disabled"}</td>
          <td class="actions">
            {button("roles", "Roles")} {button("password", "Password")}{" "}
            {name !== reader && (
              <button
                type="button"
                class="small outline"
                aria-label={`${active ? "Disable" : "Enable"} ${name}`}
                onClick={() => {
                  act("switch", user);
                }}
              >
                {active ? "Disable" : "Enable"}
              </button>
            )}
          </td>
        </tr>
      );
    })}
  </Table>
);
