import type { ComponentChildren } from "preact";
import { Link, useLocation } from "wouter-preact";

import { pagesFor } from "../pages.ts";
import { ThemeButton } from "./theme-button.tsx";
import { useSession } from "../session.ts";

/** What stands around every page. */
export function Layout({ children }: { readonly children: ComponentChildren }) {
  const { session, leave } = useSession();
  const [place] = useLocation();
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
                <Link
                  href={path}
                  class={isWithin(place, path) ? "here" : ""}
                  aria-current={isWithin(place, path) ? "page" : undefined}
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

const isWithin = (place: string, path: string): boolean => place === path || place.startsWith(`${path}/`);
