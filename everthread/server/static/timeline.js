// The memory over months, as a picture, and in words for those who don't see it.

import { get, inBank } from "./api.js";
import { on } from "./bus.js";
import { counted, month } from "./dates.js";
import { fill, h, svg } from "./dom.js";
import { careful } from "./notices.js";

const WIDTH = 320;
const HEIGHT = 150;
const FLOOR = 126; // where the bars stand

export class Timeline {
  constructor() {
    this.items = null;
    this.changed = () => {};
    this.read = careful(this.read.bind(this));
    on("sessions", () => this.forgetIt());
    on("bank", () => this.forgetIt());
    on("forgotten", () => this.forgetIt());
  }

  forgetIt() {
    this.items = null;
    this.changed();
  }

  async read() {
    this.items = (await get(inBank("/timeline"))).items;
    this.changed();
  }

  show(panel) {
    if (this.items === null) return this.read();
    if (!this.items.length)
      return fill(panel, h("p", { class: "nothing" }, "What is said, month by month, will stand here."));
    const lines = this.items.reduce((sum, each) => sum + each.lines, 0);
    const text = `${counted(lines, "line")} since ${month(`${this.items[0].month}-15`)}`;
    return fill(panel, h("p", { class: "small" }, text), picture(months(this.items)), table(this.items));
  }
}

/** The months from the first to the last, those without a word too. */
export function months(items) {
  const said = new Map(items.map((each) => [each.month, each]));
  const found = [];
  let [year, number] = items[0].month.split("-").map(Number);
  for (const last = items.at(-1).month; ; [year, number] = number === 12 ? [year + 1, 1] : [year, number + 1]) {
    const name = `${year}-${String(number).padStart(2, "0")}`;
    found.push(said.get(name) ?? { month: name, lines: 0, sessions: 0 });
    if (name === last || found.length > 1200) return found;
  }
}

function picture(all) {
  const most = Math.max(...all.map((each) => each.lines));
  const step = WIDTH / Math.max(all.length, 6);
  const bars = all.map((each, place) => bar(each, place * step, step, most));
  const years = all.flatMap((each, place) =>
    place === 0 || each.month.endsWith("-01") ? [year(each, place * step)] : [],
  );
  return svg(
    "svg",
    {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      class: "timeline",
      role: "list",
      "aria-label": `Lines a month, ${counted(most, "line")} at most`,
    },
    svg("line", { x1: 0, x2: WIDTH, y1: FLOOR, y2: FLOOR, class: "floor", "aria-hidden": "true" }),
    bars,
    years,
  );
}

/** A month's bar in all the height there is, so that a low one can be pointed at; one without a word is only seen. */
function bar(each, x, step, most) {
  const { lines } = each;
  const height = lines ? Math.max(2, (lines / most) * (FLOOR - 10)) : 0;
  const width = Math.max(0.5, step * 0.72);
  const named = told(each);
  return svg(
    "g",
    lines ? { role: "listitem", "aria-label": named } : { "aria-hidden": "true" },
    svg("title", {}, named),
    svg("path", { d: `M${x} 0h${step}v${FLOOR}h${-step}z`, class: "about" }),
    svg("rect", { x: x + step * 0.14, y: FLOOR - height, width, height, rx: Math.min(2, width / 2) }),
  );
}

function told({ month: name, lines, sessions }) {
  const said = lines ? `${counted(lines, "line")} in ${counted(sessions, "conversation")}` : "nothing was said";
  return `${month(`${name}-15`)}: ${said}`;
}

const year = (each, x) => svg("text", { x, y: HEIGHT - 8, "aria-hidden": "true" }, each.month.slice(0, 4));

function table(items) {
  const head = h(
    "tr",
    {},
    h("th", { scope: "col" }, "Month"),
    h("th", { scope: "col" }, "Lines"),
    h("th", { scope: "col" }, "Conversations"),
  );
  const rows = items
    .toReversed()
    .map((each) =>
      h(
        "tr",
        {},
        h("th", { scope: "row" }, month(`${each.month}-15`)),
        h("td", {}, each.lines.toLocaleString()),
        h("td", {}, each.sessions),
      ),
    );
  return h(
    "details",
    { open: items.length < 8 },
    h("summary", {}, "In numbers"),
    h("table", {}, h("thead", {}, head), h("tbody", {}, rows)),
  );
}
