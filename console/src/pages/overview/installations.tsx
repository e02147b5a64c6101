import type { InstallationCount, Overview } from "../../../../schemas/overview.ts";
import { formatCount } from "../../components/format.ts";
import { RightLink } from "../../components/right-link.tsx";
import { useRight } from "../../session.ts";
import { Table } from "../../components/table.tsx";

interface InstallationTotalsProps {
  readonly totals: Overview["installations"];
  readonly heading?: string;
}

/** Counts the push tokens by application and platform. */
export function InstallationTotals({ totals, heading = "Installations" }: InstallationTotalsProps) {
  const canRead = useRight("status.read");
  return (
    <article aria-labelledby="installations">
      <h2 id="installations">{heading}</h2>
      {totals === null && canRead && <p>Not counted yet.</p>}
      {totals === null && !canRead && (
        <p>
          Viewing these numbers requires the right <code>status.read</code>.
        </p>
      )}
      {totals?.length === 0 && <NoTokens />}
      {totals !== null && totals.length > 0 && <Chart totals={totals} />}
    </article>
  );
}

const NoTokens = () => (
  <p>
    No push tokens yet. First add the application and its platform on the page{" "}
    <RightLink right="admin" href="/applications">
      Applications
    </RightLink>
    , then register tokens over HTTP.
  </p>
);

function Chart({ totals }: { readonly totals: readonly InstallationCount[] }) {
  const largest = Math.max(...totals.map(({ active, inactive }) => active + inactive));
  return (
    <Table
      label="Installations by application and platform"
      columns={["Application", "Platform", "Active", "Inactive", ""]}
    >
      {totals.map(({ application, platform, active, inactive }) => (
        <tr key={`${application}/${platform}`}>
          <th scope="row">{application}</th>
          <td>{platform}</td>
          <td>{formatCount(active)}</td>
          <td>{formatCount(inactive)}</td>
          <td>
            <svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
              <rect class="active" width={(100 * active) / largest} height="10" />
              <rect x={(100 * active) / largest} width={(100 * inactive) / largest} height="10" />
            </svg>
          </td>
        </tr>
      ))}
    </Table>
  );
}
