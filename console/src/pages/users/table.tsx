import type { UserView } from "../../../../schemas/user.ts";
import { Table } from "../../components/table.tsx";
import { getRoleName } from "../../components/grants-field.tsx";

export type UserAction = "roles" | "password" | "sessions" | "activation";

interface UserTableProps {
  readonly users: readonly UserView[];
  readonly currentUser: string;
  readonly onAction: (action: UserAction, user: UserView) => void;
}

export const UserTable = ({ users, currentUser, onAction }: UserTableProps) => (
  <Table label="Users" columns={["Name", "Roles", "State", "Actions"]}>
    {users.map((user) => {
      const { name, roles, active } = user;
      const renderButton = (action: UserAction, text: string) => (
        <button
          type="button"
          class="small outline"
          aria-label={`${text} of ${name}`}
          onClick={() => {
            onAction(action, user);
          }}
        >
          {text}
        </button>
      );
      return (
        <tr key={name}>
          <th scope="row">
            {name}
            {name === currentUser && <small> (you)</small>}
          </th>
          <td>{roles.length === 0 ? "–" : roles.map(getRoleName).join(", ")}</td>
          <td>{active ? "active" : "disabled"}</td>
          <td class="actions">
            {renderButton("roles", "Roles")} {renderButton("password", "Password")}{" "}
            {renderButton("sessions", "Sessions")}{" "}
            {name !== currentUser && (
              <button
                type="button"
                class="small outline"
                aria-label={`${active ? "Disable" : "Enable"} ${name}`}
                onClick={() => {
                  onAction("activation", user);
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
