import { useState } from "preact/hooks";

type Theme = "light" | "dark";

const stored = "topicsync-theme";

/** The reader's choice, or what the system prefers. */
function initialTheme(): Theme {
  const chosen = localStorage.getItem(stored);
  if (chosen === "light" || chosen === "dark") return chosen;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

function show(theme: Theme): Theme {
  document.documentElement.dataset["theme"] = theme;
  return theme;
}

/** Changes between dark and light. */
export function ThemeButton() {
  const [theme, setTheme] = useState<Theme>(() => show(initialTheme()));
  const other = theme === "dark" ? "light" : "dark";
  return (
    <button
      type="button"
      class="outline secondary"
      aria-label={`Use the ${other} theme`}
      onClick={() => {
        localStorage.setItem(stored, other);
        setTheme(show(other));
      }}
    >
      {theme === "dark" ? "☀" : "☾"}
    </button>
  );
}
