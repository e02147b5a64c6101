import type { ComponentChildren } from "preact";

interface TableProps {
  /** Read by screen readers. */
  readonly label: string;
  readonly caption?: ComponentChildren;
  /** Headings; "" for a column without one. */
  readonly columns: readonly string[];
  /** The rows. */
  readonly children: ComponentChildren;
}

/** A table that scrolls if the window is too narrow. */
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
