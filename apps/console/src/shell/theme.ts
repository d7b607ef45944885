/** Light, dark, or as in the system settings. The choice is stored in this browser. */
export type Theme = "system" | "light" | "dark";

const PLACE = "skein.theme";

export function chosenTheme(): Theme {
  const kept = localStorage.getItem(PLACE);
  return kept === "light" || kept === "dark" ? kept : "system";
}

export function applyTheme(theme: Theme): void {
  if (theme === "system") {
    delete document.documentElement.dataset["theme"];
    localStorage.removeItem(PLACE);
    return;
  }
  document.documentElement.dataset["theme"] = theme;
  localStorage.setItem(PLACE, theme);
}
