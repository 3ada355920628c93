// The timeline: messages per month as a bar chart and as a table.

import { bankPath, get } from "./api.js";
import { monthName } from "./dates.js";
import { button, fill, h, svg } from "./dom.js";
import { emit, on } from "./events.js";
import { withErrorsOf } from "./notices.js";
import { formatNumber, t } from "./words.js";

const WIDTH = 320;
const HEIGHT = 150;
const BASELINE = 126; // y of the foot of the bars
const MAX_MONTHS = 1_200;
const OPEN_TABLE_ROWS = 8; // longer tables are folded

export class TimelinePanel {
  constructor() {
    this.items = null;
    this.onChange = () => {};
    withErrorsOf(this, "read");
    for (const name of ["sessions-changed", "bank", "forgotten"]) on(name, () => this.reset());
  }

  reset() {
    this.items = null;
    this.onChange();
  }

  async read() {
    this.items = (await get(bankPath("/timeline"))).items;
    this.onChange();
  }

  show(panel) {
    if (this.items === null) return this.read();
    if (!this.items.length)
      return fill(panel, h("p", { class: "empty" }, t("timeline.empty")));
    const total = this.items.reduce((sum, item) => sum + item.lines, 0);
    const text = t("timeline.since", { messages: t("count.messages", { count: total }), month: nameOf(this.items[0]) });
    return fill(panel, h("p", { class: "small" }, text), chart(fillMonths(this.items)), monthTable(this.items));
  }
}

const nameOf = ({ month }) => monthName(`${month}-15`); // its middle, whatever the time zone

/** All months from the first to the last, with those that have no message. */
function fillMonths(items) {
  const known = new Map(items.map((item) => [item.month, item]));
  const months = [];
  let [year, number] = items[0].month.split("-").map(Number);
  for (const last = items.at(-1).month; ; [year, number] = number === 12 ? [year + 1, 1] : [year, number + 1]) {
    const month = `${year}-${String(number).padStart(2, "0")}`;
    months.push(known.get(month) ?? { month, lines: 0, sessions: 0 });
    if (month === last || months.length > MAX_MONTHS) return months;
  }
}

function chart(months) {
  const max = Math.max(...months.map((item) => item.lines));
  const step = WIDTH / Math.max(months.length, 6);
  const bars = months.map((item, index) => bar(item, index * step, step, max));
  const years = months.flatMap((item, index) =>
    index === 0 || item.month.endsWith("-01") ? [yearLabel(item, index * step)] : [],
  );
  return svg(
    "svg",
    {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      class: "timeline",
      role: "list",
      "aria-label": t("timeline.label", { max }),
    },
    svg("line", { x1: 0, x2: WIDTH, y1: BASELINE, y2: BASELINE, class: "baseline", "aria-hidden": "true" }),
    bars,
    years,
  );
}

/** A month's bar, with a transparent area of the chart's full height, so that a low bar can be pointed at. */
function bar(item, x, step, max) {
  const { lines } = item;
  const height = lines ? Math.max(2, (lines / max) * (BASELINE - 10)) : 0;
  const width = Math.max(0.5, step * 0.72);
  const label = describeMonth(item);
  return svg(
    "g",
    lines
      ? { role: "listitem", "aria-label": label, on: { click: () => emit("month", item.month) } }
      : { "aria-hidden": "true" },
    svg("title", {}, label),
    svg("path", { d: `M${x} 0h${step}v${BASELINE}h${-step}z`, class: "plot" }),
    svg("rect", { x: x + step * 0.14, y: BASELINE - height, width, height, rx: Math.min(2, width / 2) }),
  );
}

function describeMonth(item) {
  const month = nameOf(item);
  if (!item.lines) return t("timeline.no_messages", { month });
  const messages = t("count.messages", { count: item.lines });
  return t("timeline.month", { month, messages, chats: t("count.chats", { count: item.sessions }) });
}

const yearLabel = (item, x) => svg("text", { x, y: HEIGHT - 8, "aria-hidden": "true" }, item.month.slice(0, 4));

function monthTable(items) {
  const head = [t("timeline.month_head"), t("timeline.messages"), t("timeline.chats")].map((name) => h("th", { scope: "col" }, name));
  const rows = items
    .toReversed()
    .map((item) =>
      h(
        "tr",
        {},
        h(
          "th",
          { scope: "row" },
          button(nameOf(item), () => emit("month", item.month), { class: "link", title: t("timeline.open") }),
        ),
        h("td", {}, formatNumber(item.lines)),
        h("td", {}, formatNumber(item.sessions)),
      ),
    );
  return h(
    "details",
    { open: items.length < OPEN_TABLE_ROWS },
    h("summary", {}, t("timeline.numbers")),
    h("table", {}, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows)),
  );
}
