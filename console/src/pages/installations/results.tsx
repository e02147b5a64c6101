import type { InstallationView } from "../../../../schemas/installation-view.ts";
import { Table } from "../../components/table.tsx";
import { When } from "../../components/time-ago.tsx";

interface ResultsProps {
  readonly found: readonly InstallationView[];
  /** Ids of those that are chosen. */
  readonly chosen: ReadonlySet<string>;
  readonly choose: (chosen: ReadonlySet<string>) => void;
}

/** Whether it can be deactivated. */
const isOpen = ({ id, active }: InstallationView): boolean => active && id !== undefined;

/** Installations, the active ones to be chosen from. */
export function Results({ found, chosen, choose }: ResultsProps) {
  const open = found.filter(isOpen).map(({ id = "" }) => id);
  const set = (id: string, isChosen: boolean): void => {
    const others = [...chosen].filter((one) => one !== id);
    choose(new Set(isChosen ? [...others, id] : others));
  };
  return (
    <Table
      label="Installations"
      columns={["", "Token", "User", "Application", "Platform", "State", "Last seen"]}
      caption={
        <label>
          <input
            type="checkbox"
            checked={open.length > 0 && chosen.size === open.length}
            disabled={open.length === 0}
            onChange={(event) => {
              choose(new Set(event.currentTarget.checked ? open : []));
            }}
          />
          Choose all active ones of this page
        </label>
      }
    >
      {found.map((one) => {
        const { id = "", token, user, application, platform, active, deactivatedReason, lastSeenOn } = one;
        return (
          <tr key={id}>
            <td>
              {isOpen(one) && (
                <input
                  type="checkbox"
                  aria-label={`Choose ${token} of ${user}`}
                  checked={chosen.has(id)}
                  onChange={(event) => {
                    set(id, event.currentTarget.checked);
                  }}
                />
              )}
            </td>
            <th scope="row">
              <code>{token}</code>
            </th>
            <td>{user}</td>
            <td>{application}</td>
            <td>{platform}</td>
            <td>
              {active ? "active" : "inactive"}
              {deactivatedReason !== undefined && <small>: {deactivatedReason}</small>}
            </td>
            <td>
              <When time={lastSeenOn} />
            </td>
          </tr>
        );
      })}
    </Table>
  );
}
