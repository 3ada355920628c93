// Times as people say them, in their own language and time zone.

const CLOCK = format({ hour: "2-digit", minute: "2-digit" });
const DAY = format({ day: "numeric", month: "short" });
const DATE = format({ day: "numeric", month: "long", year: "numeric" });
const MONTH = format({ month: "long", year: "numeric" });

/** Writes a date so. What the browser needs for it takes tens of milliseconds to load, so only the first date waits. */
function format(options) {
  let made = null;
  return (date) => (made ??= new Intl.DateTimeFormat(undefined, options)).format(date);
}

/** 14:03 today, 3 Mar this year, else 3 March 2024. */
export function short(iso) {
  const date = new Date(iso);
  const now = new Date();
  if (date.toDateString() === now.toDateString()) return CLOCK(date);
  return date.getFullYear() === now.getFullYear() ? DAY(date) : DATE(date);
}

export const clock = (iso) => CLOCK(new Date(iso));
export const day = (iso) => DATE(new Date(iso));
export const full = (iso) => `${DATE(new Date(iso))}, ${CLOCK(new Date(iso))}`;
export const month = (iso) => MONTH(new Date(iso));

/** 1 line, 12 lines, 1,200 lines. */
export const counted = (number, noun) => `${number.toLocaleString()} ${noun}${number === 1 ? "" : "s"}`;
