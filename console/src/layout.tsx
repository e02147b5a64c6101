import type { ComponentChildren } from "preact";
import { Link } from "wouter-preact";

import { pagesFor } from "./pages.ts";
import { ThemeButton } from "./parts/theme.tsx";
import { useSession } from "./session.ts";

/** What stands around every page. */
export function Layout({ children }: { readonly children: ComponentChildren }) {
  const { session, leave } = useSession();
  return (
    <>
      <a class="skip" href="#main">
        Skip to the page
      </a>
      <header class="container">
        <nav aria-label="Pages">
          <ul>
            <li>
              <strong>topicsync</strong>
            </li>
            {pagesFor(session.roles).map(({ path, name }) => (
              <li key={path}>
                <Link href={path} className={(isHere) => (isHere ? "here" : "")}>
                  {name}
                </Link>
              </li>
            ))}
          </ul>
          <ul>
            <li>
              <ThemeButton />
            </li>
            <li class="who">{session.user}</li>
            <li>
              <button
                type="button"
                class="outline secondary"
                onClick={() => {
                  leave();
                }}
              >
                Sign out
              </button>
            </li>
          </ul>
        </nav>
      </header>
      <main class="container" id="main" tabIndex={-1}>
        {children}
      </main>
    </>
  );
}
