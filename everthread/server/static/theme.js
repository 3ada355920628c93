// Before the first paint: dark or light as it was chosen, else as the system has it.
try {
  const chosen = JSON.parse(localStorage.getItem("everthread") ?? "{}").theme;
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
} catch {
  // Storage is off or holds something else: the system's way.
}
