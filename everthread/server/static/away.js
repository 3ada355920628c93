// The server went away: ask quietly until it is there again.

import { get } from "./api.js";
import { on, tell } from "./bus.js";

const PAUSE = 3_000; // milliseconds between two tries
let waiting = false;

on("away", async () => {
  if (waiting) return;
  waiting = true;
  do await new Promise((resolve) => setTimeout(resolve, PAUSE));
  while (!(await there()));
  waiting = false;
  tell("back");
});

async function there() {
  try {
    return Boolean(await get("/about"));
  } catch (error) {
    return error.kind !== "unreachable" && error.status < 500;
  }
}
