/** The colours: those of the system, or light or dark as the person has chosen in this browser. */

const STORED_THEME = "recollect-theme";
const THEMES = ["system", "light", "dark"];

/** Returns the chosen theme: "system", "light" or "dark". */
export function getTheme() {
  const theme = localStorage.getItem(STORED_THEME);
  return THEMES.includes(theme) ? theme : "system";
}

/** Chooses a theme and shows it. */
export function setTheme(theme) {
  localStorage.setItem(STORED_THEME, theme);
  applyTheme();
}

/** Shows the chosen theme. */
export function applyTheme() {
  document.documentElement.dataset.theme = getTheme();
  document.dispatchEvent(new CustomEvent("themechange"));
}
