import { useEffect, useState } from "preact/hooks";

type Theme = "light" | "dark";

const storageKey = "topicsync-theme";

const prefersDark = matchMedia("(prefers-color-scheme: dark)");

/** The user's choice, else the system's preference. */
function getTheme(): Theme {
  const chosen = localStorage.getItem(storageKey);
  if (chosen === "light" || chosen === "dark") return chosen;
  return prefersDark.matches ? "dark" : "light";
}

function applyTheme(theme: Theme): Theme {
  document.documentElement.dataset["theme"] = theme;
  return theme;
}

export function ThemeButton() {
  const [theme, setTheme] = useState<Theme>(() => applyTheme(getTheme()));
  useEffect(() => {
    const follow = (): void => {
      setTheme(applyTheme(getTheme()));
    };
    prefersDark.addEventListener("change", follow);
    return () => {
      prefersDark.removeEventListener("change", follow);
    };
  }, []);
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
