const kThemeKey = "tgc-view-theme";

/** Calls `show` with whether the page is dark: as the user chose, or else as the system is; and again whenever the
 * system's theme changes. @param {(dark: boolean) => void} show */
export function followTheme(show) {
  let kept = null;
  try { kept = localStorage.getItem(kThemeKey); } catch { /* the browser may refuse storage to a page from the disk */ }
  const system = matchMedia("(prefers-color-scheme: dark)");
  show(kept ? kept === "dark" : system.matches);
  system.addEventListener("change", () => show(system.matches));
}

/** Sets the theme. @param {boolean} dark @param {boolean} keep whether the user chose it */
export function setTheme(dark, keep) {
  document.documentElement.classList.toggle("dark", dark);
  try { if (keep) localStorage.setItem(kThemeKey, dark ? "dark" : "light"); } catch { /* see above */ }
}
