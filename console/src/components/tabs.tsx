import { Link } from "wouter-preact";

interface TabsProps {
  readonly label: string;
  readonly tabs: readonly { readonly name: string; readonly href: string; readonly isCurrent: boolean }[];
}

/** The parts of a page, as links: each has an address. */
export const Tabs = ({ label, tabs }: TabsProps) => (
  <nav class="tabs" aria-label={label}>
    <ul>
      {tabs.map(({ name, href, isCurrent }) => (
        <li key={name}>
          <Link href={href} class={isCurrent ? "here" : ""} aria-current={isCurrent ? "page" : undefined}>
            {name}
          </Link>
        </li>
      ))}
    </ul>
  </nav>
);
