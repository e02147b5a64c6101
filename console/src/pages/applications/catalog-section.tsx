import { ErrorMessage } from "../../components/error-message.tsx";
import { Table } from "../../components/table.tsx";
import { useListDialog } from "../../list-dialog.ts";
import { useQuery } from "../../query.ts";
import { catalogs, tokenRuleLabels, type CatalogEntry, type CatalogKind } from "./catalog.ts";
import { ActivationDialog, AddDialog, TokenRuleDialog } from "./dialogs.tsx";

const dialogs = { rule: TokenRuleDialog, activation: ActivationDialog } as const;
type EntryAction = keyof typeof dialogs;

/** Lists the applications or the platforms, with dialogs to change them. */
export function CatalogSection({ kind }: { readonly kind: CatalogKind }) {
  const { path, heading, addLabel, description, emptyHint } = catalogs[kind];
  const { value, error, refetch } = useQuery<Partial<Record<CatalogKind, readonly CatalogEntry[]>>>(path);
  const { open, show, notice, handlers } = useListDialog<
    "add" | { readonly action: EntryAction; readonly entry: CatalogEntry }
  >(refetch);
  const entries = value?.[kind];

  const EntryDialog = open === undefined || open === "add" ? undefined : dialogs[open.action];
  const renderButton = (action: EntryAction, entry: CatalogEntry, text: string) => (
    <button
      type="button"
      class="small outline"
      aria-label={`${text} ${action === "rule" ? "of " : ""}${entry.name}`}
      onClick={() => {
        show({ action, entry });
      }}
    >
      {text}
    </button>
  );

  return (
    <article aria-labelledby={kind}>
      <h2 id={kind}>{heading}</h2>
      <p>{description}</p>
      <p role="status">{notice}</p>
      {error !== undefined && <ErrorMessage error={error} retry={refetch} />}
      {entries?.length === 0 && <p>None yet. Add one first: {emptyHint}</p>}
      {entries !== undefined && entries.length > 0 && (
        <Table
          label={heading}
          columns={
            kind === "platforms" ? ["Name", "Token rule", "State", "Actions"] : ["Name", "State", "Actions"]
          }
        >
          {entries.map((entry) => (
            <tr key={entry.name}>
              <th scope="row">{entry.name}</th>
              {kind === "platforms" && <td>{tokenRuleLabels[entry.tokenRule ?? ""] ?? entry.tokenRule}</td>}
              <td>{entry.active ? "active" : "disabled"}</td>
              <td class="actions">
                {kind === "platforms" && renderButton("rule", entry, "Rule")}{" "}
                {renderButton("activation", entry, entry.active ? "Disable" : "Enable")}
              </td>
            </tr>
          ))}
        </Table>
      )}
      {/* Shown after the list has loaded, which would move it away from under the pointer. */}
      {(entries !== undefined || error !== undefined) && (
        <button
          type="button"
          onClick={() => {
            show("add");
          }}
        >
          {addLabel}
        </button>
      )}
      {open === "add" && <AddDialog kind={kind} {...handlers} />}
      {EntryDialog !== undefined && typeof open === "object" && (
        <EntryDialog kind={kind} entry={open.entry} {...handlers} />
      )}
    </article>
  );
}
