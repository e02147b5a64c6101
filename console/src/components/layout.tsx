import type { ComponentChildren } from "preact";
import { Link, useLocation } from "wouter-preact";

import { accountPath, getPagesFor } from "../pages.ts";
import { ThemeButton } from "./theme-button.tsx";
import { useSession } from "../session.ts";

/** The navigation around every page. */
export function Layout({ children }: { readonly children: ComponentChildren }) {
  const { session, signOut } = useSession();
  const [current] = useLocation();
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
            {getPagesFor(session.rights)
              .filter(({ isLinked }) => !isLinked)
              .map(({ path, name }) => (
                <li key={path}>
                  <Link
                    href={path}
                    class={isWithin(current, path) ? "here" : ""}
                    aria-current={isWithin(current, path) ? "page" : undefined}
                  >
                    {name}
                  </Link>
                </li>
              ))}
          </ul>
          <ul>
            <li>
              <ThemeButton />
            </li>
            <li class="who">
              <Link
                href={accountPath}
                title="Your account"
                class={isWithin(current, accountPath) ? "here" : ""}
                aria-current={isWithin(current, accountPath) ? "page" : undefined}
              >
                {session.user}
              </Link>
            </li>
            <li>
              <button type="button" class="outline secondary" onClick={signOut}>
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

const isWithin = (current: string, path: string): boolean =>
  current === path || current.startsWith(`${path}/`);
