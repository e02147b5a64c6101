import type { InstallationView } from "../../../../schemas/installations/view.ts";
import { Table } from "../../components/table.tsx";
import { TimeAgo } from "../../components/time-ago.tsx";

interface ResultsProps {
  readonly found: readonly InstallationView[];
  readonly selectedIds: ReadonlySet<string>;
  readonly onSelect: (ids: ReadonlySet<string>) => void;
}

const canBeDeactivated = ({ id, active }: InstallationView): boolean => active && id !== undefined;

/** Installations; the active ones can be selected. */
export function Results({ found, selectedIds, onSelect }: ResultsProps) {
  const selectable = found.filter(canBeDeactivated).map(({ id = "" }) => id);
  const select = (id: string, isSelected: boolean): void => {
    const others = [...selectedIds].filter((one) => one !== id);
    onSelect(new Set(isSelected ? [...others, id] : others));
  };
  return (
    <Table
      label="Installations"
      columns={["", "Token", "User", "Application", "Platform", "State", "Last seen"]}
      caption={
        <label>
          <input
            type="checkbox"
            checked={selectable.length > 0 && selectedIds.size === selectable.length}
            disabled={selectable.length === 0}
            onChange={(event) => {
              onSelect(new Set(event.currentTarget.checked ? selectable : []));
            }}
          />
          Select all active installations on this page
        </label>
      }
    >
      {found.map((one) => {
        const { id = "", token, user, application, platform, active, deactivatedReason, lastSeenOn } = one;
        const attributes = Object.entries(one.attributes ?? {});
        return (
          <tr key={id}>
            <td>
              {canBeDeactivated(one) && (
                <input
                  type="checkbox"
                  aria-label={`Select ${token} of ${user}`}
                  checked={selectedIds.has(id)}
                  onChange={(event) => {
                    select(id, event.currentTarget.checked);
                  }}
                />
              )}
            </td>
            <th scope="row">
              <code>{token}</code>
            </th>
            <td>{user}</td>
            <td>{application}</td>
            <td>
              {platform}
              {attributes.length > 0 && (
                <small>: {attributes.map(([name, text]) => `${name} ${text}`).join(", ")}</small>
              )}
            </td>
            <td>
              {active ? "active" : "inactive"}
              {deactivatedReason !== undefined && <small>: {deactivatedReason}</small>}
            </td>
            <td>
              <TimeAgo time={lastSeenOn} />
            </td>
          </tr>
        );
      })}
    </Table>
  );
}
