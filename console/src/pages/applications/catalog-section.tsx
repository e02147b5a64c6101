import { useQuery } from "../../query.ts";
import { useListDialog } from "../../list-dialog.ts";
import { Failure } from "../../components/error-message.tsx";
import { Table } from "../../components/table.tsx";
import { AddName, ChangeRule, SwitchName } from "./dialogs.tsx";
import { kinds, ruleTexts, type Kind, type NamedView } from "./catalog.ts";

const dialogs = { rule: ChangeRule, switch: SwitchName } as const;

/** The applications, or the platforms, and what can be done with each. */
export function Names({ kind }: { readonly kind: Kind }) {
  const { path, heading, one, about } = kinds[kind];
  const { value, error, again } = useQuery<Partial<Record<Kind, readonly NamedView[]>>>(path);
  const { open, show, said, ends } = useListDialog<
    "add" | { readonly act: keyof typeof dialogs; readonly named: NamedView }
  >(again);
  const known = value?.[kind];

  const dialog = { kind, ...ends };
  const Dialog = open === undefined || open === "add" ? undefined : dialogs[open.act];
  const button = (act: keyof typeof dialogs, named: NamedView, text: string) => (
    <button
      type="button"
      class="small outline"
      aria-label={`${text} ${act === "rule" ? "of " : ""}${named.name}`}
      onClick={() => {
        show({ act, named });
      }}
    >
      {text}
    </button>
  );

  return (
    <article aria-labelledby={kind}>
      <h2 id={kind}>{heading}</h2>
      <p>{about}</p>
      <p role="status">{said}</p>
      {error !== undefined && <Failure error={error} again={again} />}
      {known?.length === 0 && <p>There is none yet: add one, so that tokens can be registered.</p>}
      {known !== undefined && known.length > 0 && (
        <Table
          label={heading}
          columns={["Name", ...(kind === "platforms" ? ["Token rule"] : []), "State", "Actions"]}
        >
          {known.map((named) => (
            <tr key={named.name}>
              <th scope="row">{named.name}</th>
              {kind === "platforms" && <td>{ruleTexts[named.tokenRule ?? ""] ?? named.tokenRule}</td>}
              <td>{named.active ? "active" : "disabled"}</td>
              <td class="actions">
                {kind === "platforms" && button("rule", named, "Rule")}{" "}
                {button("switch", named, named.active ? "Disable" : "Enable")}
              </td>
            </tr>
          ))}
        </Table>
      )}
      {/* Not before the list: it would be pushed away from under the pointer. */}
      {(known !== undefined || error !== undefined) && (
        <button
          type="button"
          onClick={() => {
            show("add");
          }}
        >
          Add {one === "application" ? "an application" : "a platform"}
        </button>
      )}
      {open === "add" && <AddName {...dialog} />}
      {Dialog !== undefined && typeof open === "object" && <Dialog {...dialog} named={open.named} />}
    </article>
  );
}
