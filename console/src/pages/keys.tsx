import type { KeyList, KeyView } from "../../../schemas/api-key.ts";
import { ErrorMessage } from "../components/error-message.tsx";
import { getRoleName } from "../components/grants-field.tsx";
import { Page } from "../components/page.tsx";
import { Pager, toPagePath, usePaging } from "../components/pager.tsx";
import { Table } from "../components/table.tsx";
import { TimeAgo } from "../components/time-ago.tsx";
import { useListDialog } from "../list-dialog.ts";
import { useQuery } from "../query.ts";
import { CreateKeyDialog, DeleteKeyDialog, keysPath } from "./keys/dialogs.tsx";

/** The API keys of programs. */
export function Keys() {
  const paging = usePaging("");
  const { value, error, refetch } = useQuery<KeyList>(toPagePath(keysPath, paging));
  const { open, show, notice, handlers } = useListDialog<"create" | KeyView>(refetch);
  return (
    <Page name="Keys">
      <p>
        <button
          type="button"
          onClick={() => {
            show("create");
          }}
        >
          Create a key
        </button>
      </p>
      <p role="status">{notice}</p>
      {error !== undefined && <ErrorMessage error={error} retry={refetch} />}
      {value?.keys.length === 0 && (
        <p>No API keys yet. Programs send them instead of a user name and password.</p>
      )}
      {value !== undefined && value.keys.length > 0 && (
        <Table
          label="API keys"
          columns={["Name", "Rights and roles", "Created", "Expires", "Last used", "Actions"]}
        >
          {value.keys.map((key) => (
            <KeyRow
              key={key.id}
              apiKey={key}
              onDelete={() => {
                show(key);
              }}
            />
          ))}
        </Table>
      )}
      {value !== undefined && <Pager paging={paging} next={value.next} />}
      {open === "create" && <CreateKeyDialog {...handlers} />}
      {typeof open === "object" && <DeleteKeyDialog {...handlers} apiKey={open} />}
    </Page>
  );
}

interface KeyRowProps {
  readonly apiKey: KeyView;
  readonly onDelete: () => void;
}

const KeyRow = ({
  apiKey: { name, roles, createdOn, createdBy, expiresOn, lastUsedOn },
  onDelete,
}: KeyRowProps) => (
  <tr>
    <th scope="row">{name}</th>
    <td>{roles.length === 0 ? "–" : roles.map(getRoleName).join(", ")}</td>
    <td>
      <TimeAgo time={createdOn} /> by {createdBy}
    </td>
    <td>
      <TimeAgo time={expiresOn} />
    </td>
    <td>{lastUsedOn === null ? "Never" : <TimeAgo time={lastUsedOn} />}</td>
    <td class="actions">
      <button type="button" class="small outline" aria-label={`Delete the key ${name}`} onClick={onDelete}>
        Delete
      </button>
    </td>
  </tr>
);
