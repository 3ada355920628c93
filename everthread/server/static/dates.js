// Dates as text, in the page's language and the browser's time zone, not in a line's own.

import { locale, t } from "./words.js";

const CLOCK = lazyFormat({ hour: "numeric", minute: "2-digit" });
const DAY = lazyFormat({ day: "numeric", month: "short" });
const DAY_OF_YEAR = lazyFormat({ day: "numeric", month: "short", year: "numeric" });
const DATE = lazyFormat({ day: "numeric", month: "long", year: "numeric" });
const MONTH = lazyFormat({ month: "long", year: "numeric" });

/** A date format that is created on first use, because that takes tens of milliseconds. */
function lazyFormat(options) {
  let format = null;
  return (date) => (format ??= new Intl.DateTimeFormat(locale, options)).format(date);
}

const format = (show) => (iso) => (iso ? show(new Date(iso)) : t("date.unknown"));

/** 14:03 today, 3 Mar this year, otherwise 3 Mar 2024. */
export const shortDate = format((date) => {
  const now = new Date();
  if (date.toDateString() === now.toDateString()) return CLOCK(date);
  return date.getFullYear() === now.getFullYear() ? DAY(date) : DAY_OF_YEAR(date);
});

export const clockTime = format(CLOCK);
export const longDate = format(DATE);
export const dateTime = format((date) => `${DATE(date)}, ${CLOCK(date)}`);
export const monthName = format(MONTH);

const RELATIVE_UNITS = [
  ["year", 365.2425],
  ["month", 30.436875],
  ["week", 7],
  ["day", 1],
]; // with their lengths in days
const DAY_MS = 86_400_000;
const MIN_UNITS = 2; // 14 months ago, not last year
let relativeFormat = null;

/** 14 months ago, 3 weeks ago, yesterday, today. */
export function timeAgo(iso) {
  const midnight = (date) => new Date(date).setHours(0, 0, 0, 0);
  const days = Math.round((midnight(iso) - midnight(new Date())) / DAY_MS);
  const [unit, length] = RELATIVE_UNITS.find(([, length]) => Math.abs(days) >= MIN_UNITS * length) ?? ["day", 1];
  relativeFormat ??= new Intl.RelativeTimeFormat(locale, { numeric: "auto" });
  return relativeFormat.format(Math.trunc(days / length), unit);
}
