// Before the rest of the page is read: what is sent already is shown where it will stand, and waits there (compose.js).

addEventListener("keydown", (event) => {
  const { target, key, shiftKey, isComposing } = event;
  if (target.id === "say" && key === "Enter" && !shiftKey && !isComposing) wait(event);
});
addEventListener("submit", (event) => event.target.id === "compose" && wait(event));

function wait(event) {
  if (event.defaultPrevented) return; // the page is there, and has taken it
  event.preventDefault();
  const field = document.getElementById("say");
  const text = field.value.trim();
  if (!text || document.getElementById("early")) return;
  field.value = "";
  field.focus();
  const line = document.createElement("article");
  line.id = "early";
  line.className = "line of-person sending";
  const said = document.createElement("div");
  said.className = "said";
  said.dir = "auto";
  said.textContent = text;
  line.append(said);
  document.getElementById("lines").append(line);
}
