// Events between the parts of the page: "state" (of the chat), "bank", "route", "context", "forgotten", "pins", …

const target = new EventTarget();

/** Call a function with the detail of every event of this name. */
export const on = (name, act) => target.addEventListener(name, (event) => act(event.detail));

export const emit = (name, detail) => target.dispatchEvent(new CustomEvent(name, { detail }));
