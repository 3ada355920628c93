// Dates and counts as text, in the browser's language and time zone. A line's own zone, in `said_at`, is not shown: it
// is UTC, or the zone of its import (`--tz`, see transfer/dates.py).

const CLOCK = lazyFormat({ hour: "2-digit", minute: "2-digit" });
const DAY = lazyFormat({ day: "numeric", month: "short" });
const DATE = lazyFormat({ day: "numeric", month: "long", year: "numeric" });
const MONTH = lazyFormat({ month: "long", year: "numeric" });

/** A date format that is created on first use: loading the browser's locale data takes tens of milliseconds. */
function lazyFormat(options) {
  let format = null;
  return (date) => (format ??= new Intl.DateTimeFormat(undefined, options)).format(date);
}

/** 14:03 today, 3 Mar this year, otherwise 3 March 2024. */
export function shortDate(iso) {
  const date = new Date(iso);
  const now = new Date();
  if (date.toDateString() === now.toDateString()) return CLOCK(date);
  return date.getFullYear() === now.getFullYear() ? DAY(date) : DATE(date);
}

export const clockTime = (iso) => CLOCK(new Date(iso));
export const longDate = (iso) => DATE(new Date(iso));
export const dateTime = (iso) => `${DATE(new Date(iso))}, ${CLOCK(new Date(iso))}`;
export const monthName = (iso) => MONTH(new Date(iso));

/** 1 message, 12 messages, 1,200 messages. */
export const countOf = (number, noun) => `${number.toLocaleString()} ${noun}${number === 1 ? "" : "s"}`;
