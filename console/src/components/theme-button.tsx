import { useState } from "preact/hooks";

type Theme = "light" | "dark";

const storageKey = "topicsync-theme";

/** The user's choice, else the system's preference. */
function getInitialTheme(): Theme {
  const chosen = localStorage.getItem(storageKey);
  if (chosen === "light" || chosen === "dark") return chosen;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

function applyTheme(theme: Theme): Theme {
  document.documentElement.dataset["theme"] = theme;
  return theme;
}

export function ThemeButton() {
  const [theme, setTheme] = useState<Theme>(() => applyTheme(getInitialTheme()));
  const other = theme === "dark" ? "light" : "dark";
  return (
    <button
      type="button"
      class="outline secondary"
      aria-label={`Use the ${other} theme`}
      onClick={() => {
        localStorage.setItem(storageKey, other);
        setTheme(applyTheme(other));
      }}
    >
      {theme === "dark" ? "☀" : "☾"}
    </button>
  );
}
