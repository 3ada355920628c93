// The words of the page, in the language that the server chose for this browser (page_languages.py).

import { language, languages, words } from "./languages/chosen.js";

export { language, languages };

/** The browser's variant of the page's language, such as en-GB, for dates and numbers. */
export const locale = navigator.languages.find((tag) => tag.split("-")[0] === language) ?? language;

const COOKIE = "everthread-language";
const COOKIE_SECONDS = 31_536_000; // a year
const RIGHT_TO_LEFT = /[\u0590-\u08ff\u202a-\u202e\ufb1d-\ufdff\ufe70-\ufefc]/; // Hebrew, Arabic, their neighbours; overrides
const IS_LOCAL = /^(.+\.)?localhost$|^127\.|^\[::1\]$/.test(location.hostname); // whether the server is on this machine
const PLACEHOLDER = /\{(\w+)\}/;

let plurals = null;
let numbers = null;

/** A number as the language writes it; options: those of Intl.NumberFormat. */
export const formatNumber = (number, options) =>
  (options ? new Intl.NumberFormat(locale, options) : (numbers ??= new Intl.NumberFormat(locale))).format(number);

/** A text with its placeholders filled: t("count.messages", {count: 3}). `count` chooses the plural form. */
export const t = (key, values) => parts(key, values).join("");

/** A text as a list of its parts, for placeholders that stand for elements. One that names the machine has another form
 * where the server is elsewhere. */
export function parts(key, values = {}) {
  return formOf((!IS_LOCAL && words[`${key}_on_server`]) || (words[key] ?? key), values.count)
    .split(PLACEHOLDER)
    .map((part, index) => (index % 2 ? show(part, values[part]) : part));
}

export const hasText = (key) => key in words;

function formOf(text, count) {
  if (typeof text === "string") return text;
  return text[(plurals ??= new Intl.PluralRules(locale)).select(count)] ?? text.other;
}

/** A placeholder's value; the placeholder itself if there is none, as for {{char}} in a text about cards. */
function show(name, value) {
  if (value === undefined) return `{${name}}`;
  return typeof value === "number" ? formatNumber(value) : isolate(value);
}

/** A text within a sentence. One that runs from right to left is isolated, so that what is around it keeps its order. */
const isolate = (text) => (RIGHT_TO_LEFT.test(text) ? `\u2068${text}\u2069` : text);

/** Options of formatNumber for sizes: 1.0, 1.5. */
export const ONE_DECIMAL = { minimumFractionDigits: 1, maximumFractionDigits: 1 };

/** "a and b", "a, b and c" */
export const joinList = (items) => new Intl.ListFormat(locale).format(items);

/** Choose the language of the page, which is loaded again: unsent messages are saved as they are typed. */
export function setLanguage(code) {
  document.cookie = `${COOKIE}=${code}; path=/; max-age=${COOKIE_SECONDS}; samesite=lax`;
  location.reload();
}
