import type { ComponentChildren } from "preact";

interface TableProps {
  /** What it lists, for those who do not see it. */
  readonly label: string;
  readonly caption?: ComponentChildren;
  /** Headings; "" over what needs none. */
  readonly columns: readonly string[];
  /** Its rows. */
  readonly children: ComponentChildren;
}

/** A table, which is scrolled by itself where the window is too narrow for it. */
export const Table = ({ label, caption, columns, children }: TableProps) => (
  <div class="wide" role="region" aria-label={label} tabIndex={0}>
    <table>
      {caption !== undefined && <caption>{caption}</caption>}
      <thead>
        <tr>
          {columns.map((column) =>
            column === "" ? (
              <td key={column} />
            ) : (
              <th key={column} scope="col">
                {column}
              </th>
            ),
          )}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </div>
);
