// Runs before the first paint: applies the theme that was chosen; without one the page follows the system.
try {
  const chosen = JSON.parse(localStorage.getItem("everthread") ?? "{}").theme;
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
} catch {
  // Storage is disabled or holds something else: follow the system.
}
