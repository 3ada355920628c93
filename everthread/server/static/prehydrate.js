// Runs before the modules are loaded: a message that is sent this early is shown in its place and waits there until the
// composer sends it (composer.js).

addEventListener("keydown", (event) => {
  const { target, keyCode, shiftKey } = event; // as `isEnter` in dom.js
  if (target.id === "message" && keyCode === 13 && !shiftKey) queueSubmit(event);
});
addEventListener("submit", (event) => event.target.id === "composer" && queueSubmit(event));

function queueSubmit(event) {
  if (event.defaultPrevented) return; // the composer is loaded and has handled it
  event.preventDefault();
  const field = document.getElementById("message");
  const text = field.value.trim();
  if (!text || document.getElementById("queued")) return;
  field.value = "";
  field.focus();
  const line = document.createElement("article");
  line.id = "queued";
  line.className = "line from-person sending";
  const body = document.createElement("div");
  body.className = "line-text";
  body.dir = "auto";
  body.textContent = text;
  line.append(body);
  document.getElementById("lines").append(line);
}
