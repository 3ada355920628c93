// What is known about the person and those they mention: each fact with its time and its message.

import { bankPath, get, getAll, patch, post, remove } from "./api.js";
import { UNNAMED } from "./banknames.js";
import { longDate, monthName, shortDate } from "./dates.js";
import { button, fill, h, textElement } from "./dom.js";
import { on } from "./events.js";
import { showNotice, withErrors, withErrorsOf } from "./notices.js";
import { rerender } from "./rerender.js";
import { navigate, route } from "./router.js";
import { toolbar } from "./toolbar.js";
import { formatNumber, hasText, joinList, locale, t } from "./words.js";

const LATELY_MS = 45 * 86_400_000;
const MAX_LATELY = 5;
const FAVOURITE = "favourite ";
const FIRST = ["name", "kind", "age", "birthday", "home", "origin", "occupation", "employer", "industry", "school", "field", "status", "partner"];

export class FactsPanel {
  constructor() {
    this.subjects = null; // [{name, note, facts}, …], the person first
    this.onChange = () => {};
    withErrorsOf(this, "read");
    for (const name of ["forgotten", "corrected", "sessions-changed"]) on(name, () => this.reset());
    on("bank", () => ((this.subjects = []), (this.version = null), this.onChange())); // which may not exist yet
    on("state", ({ session, lines }) => {
      const version = `${session} ${lines.at(-1)?.seq}`;
      if (version !== this.version) ((this.version = version), this.reset());
    });
  }

  reset() {
    this.subjects = null;
    this.onChange();
  }

  async read() {
    const path = bankPath();
    const facts = await getAll(`${path}/facts?ended=true`);
    const isAbout = facts.some(({ subject }) => subject); // others are sentences of another memory
    const [entities, person] = isAbout ? await Promise.all([get(`${path}/entities`), get(`${path}/profile`)]) : [];
    if (path !== bankPath()) return;
    this.subjects = groupFacts(facts, entities?.items ?? [], person?.entity.name);
    this.onChange();
  }

  show(panel) {
    if (!this.subjects) return void this.read();
    const { subjects } = this;
    if (!subjects.length) return fill(panel, h("p", { class: "empty" }, t("facts.empty")));
    const changed = changedLately(subjects.flatMap(({ facts }) => facts));
    rerender(
      panel,
      h("p", { class: "small" }, t("facts.hint")),
      changed.length > 0 && [h("h2", {}, t("facts.changed")), h("ul", { class: "known" }, changed.map(changeItem))],
      subjects.map(this.subject, this),
    );
  }

  subject({ name, note, facts }) {
    const past = facts.filter((fact) => fact.until);
    const list = (shown) => shown.length > 0 && h("ul", { class: "known" }, shown.map((fact) => this.row(fact)));
    return h(
      "section",
      { class: "month" },
      h("h2", { dir: "auto" }, name, note && h("span", { class: "small" }, ` · ${note}`)),
      list(facts.filter((fact) => !fact.until)),
      past.length > 0 &&
        h("details", { "data-card": `past ${name}` }, h("summary", {}, t("facts.past", { count: past.length })), list(past)),
    );
  }

  row(fact) {
    return h(
      "li",
      { class: "known-fact", "data-card": `fact ${fact.id}` },
      fact.seqs.length > 0 && sourceButton(fact),
      h(
        "details",
        {},
        h("summary", {}, h("span", { class: "small" }, labelOf(fact)), " ", textElement("b", fact.value)),
        h("p", { class: "small" }, notesOf(fact).join(" · ")),
        toolbar(t("facts.actions"), this.actions(fact), "actions always-visible"),
      ),
    );
  }

  actions(fact) {
    const link = (label, act) => button(label, withErrors(act), { class: "link" });
    return [
      !fact.until && !isConfirmed(fact) && link(t("facts.right"), () => this.change(post(pathOf(fact, "/confirm")))),
      fact.attribute && link(t("memory.correct"), () => this.correct(fact)),
      fact.attribute && !fact.until && link(t("facts.end"), () => this.end(fact)),
      fact.can_resume && link(t("facts.still"), () => this.change(post(pathOf(fact, "/resume")))),
      link(t("memory.forget"), () => this.forget(fact)),
    ];
  }

  async change(request, notice) {
    await request;
    if (notice) showNotice(notice);
    await this.read();
  }

  async correct(fact) {
    const { editText } = await import("./dialogs.js");
    const save = (value) => this.change(patch(pathOf(fact), { value }), t("change.corrected"));
    await editText(titleOf(fact), fact.value, t("facts.correct_hint"), save);
  }

  async end(fact) {
    const day = h("input", { type: "date" });
    const effect = [t("facts.end_effect"), h("label", {}, " ", t("facts.ended_on"), " ", day)];
    if (await ask(fact, effect, [[t("facts.end"), true]])) {
      await this.change(post(pathOf(fact, "/end"), { moment: day.value || null }));
    }
  }

  async forget(fact) {
    const { findLeft, othersNamed } = await import("./groupcopies.js");
    const { seqs } = await get(pathOf(fact, "/lines")); // all that state it, also at other times
    const others = othersNamed((await Promise.all(seqs.map((seq) => findLeft(seq)))).flat());
    const effect = [t("facts.forget_effect"), " ", others && t("facts.forget_too", { names: others })];
    const choice = await ask(fact, effect, [
      [t("facts.forget_alone"), "alone"],
      seqs.length && [t("facts.forget_with", { messages: t("count.messages", { count: seqs.length }) }), "with"],
    ]);
    if (choice === "with") await this.forgetWithLines(fact, seqs);
    else if (choice) await this.change(remove(pathOf(fact)), t("facts.forgotten"));
  }

  /** Forget the lines first, so that after an error the fact is still there, from which to try again. */
  async forgetWithLines(fact, seqs) {
    const { forgetLines } = await import("./groupcopies.js");
    const receipt = await forgetLines(seqs);
    const isOf = ({ statements }) => statements.some((id) => fact.statements.includes(id));
    const left = (await getAll(bankPath("/facts?ended=true"))).find(isOf); // it goes with its last line
    if (left) await remove(pathOf(left));
    if (receipt) await (await import("./dialogs.js")).showReceipt(receipt);
    await this.read();
  }
}

/** Ask what to do with a fact; null: nothing. */
async function ask(fact, effect, answers) {
  const { askChoice } = await import("./dialogs.js");
  return askChoice(`${titleOf(fact)}: ${fact.value}`, effect, [...answers.filter(Boolean), [t("notes.cancel"), null]]);
}

/** Group facts by subject: the person first; sentences last. */
function groupFacts(facts, entities, person) {
  const ordered = facts.toSorted((one, other) => rankOf(one) - rankOf(other) || one.attribute.localeCompare(other.attribute));
  const order = [person, ...entities.map(({ name }) => name), ""];
  const noteOf = ({ name, relations }) =>
    name === person ? t("facts.you") : joinList(relations.map(([owner, word]) => t("facts.of", { owner, relation: attributeName({ attribute: word }) })));
  const notes = new Map(entities.map((entity) => [entity.name, noteOf(entity)]));
  return [...new Set(order)]
    .map((name) => ({ name: subjectName(name) || t("facts.others"), note: name !== UNNAMED && notes.get(name), facts: ordered.filter((fact) => fact.subject === name) }))
    .filter(({ facts }) => facts.length);
}

/** The attribute as a label. */
function labelOf(fact) {
  const name = attributeName(fact);
  return name.charAt(0).toLocaleUpperCase(locale) + name.slice(1);
}

/** The attribute with whose it is. */
const titleOf = (fact) => [subjectName(fact.subject), labelOf(fact)].filter(Boolean).join(" · ");

const subjectName = (name) => (name === UNNAMED ? t("line.you") : name);

const rankOf = ({ attribute }) => FIRST.indexOf(attribute) + 1 || FIRST.length + 1;

/** The facts that replaced others or ended lately, the latest first. */
function changedLately(facts) {
  const momentOf = (fact) => (fact.until_undated ? NaN : Date.parse(fact.until ?? fact.said_at));
  return facts
    .filter((fact) => (fact.replaces || (fact.until && !fact.replaced_by)) && Date.now() - momentOf(fact) < LATELY_MS)
    .sort((one, other) => momentOf(other) - momentOf(one))
    .slice(0, MAX_LATELY);
}

function changeItem(fact) {
  const { subject, value, replaces, until } = fact;
  const note = replaces ? t("facts.before", { value: replaces }) : t("facts.until", { date: longDate(until) });
  return h("li", { class: "small" }, textElement("span", `${subjectName(subject)} · ${attributeName(fact)}: ${value}`), ` (${note})`);
}

/** When it held, what it replaced, and how sure it is. */
function notesOf(fact) {
  const { since_stated: since, until, until_stated: end, replaces, replaced_by: next } = fact;
  return [
    since && t("facts.since", { date: momentName(since) }),
    until && !fact.until_undated && t("facts.until", { date: end ? momentName(end) : longDate(until) }),
    replaces && t("facts.before", { value: replaces }),
    next && t("facts.then", { value: next }),
    isConfirmed(fact) ? t("facts.confirmed") : t("facts.sure", { share: formatNumber(fact.confidence, { style: "percent" }) }),
  ].filter(Boolean);
}

const isConfirmed = ({ writers }) => writers.includes("person");

function attributeName({ attribute }) {
  if (!attribute) return t("list.fact");
  if (attribute.startsWith(FAVOURITE)) return t("fact.favourite", { kind: attribute.slice(FAVOURITE.length) });
  return hasText(`fact.${attribute}`) ? t(`fact.${attribute}`) : attribute;
}

/** A year, month or day as it was told: "2019", "2019-05" or "2019-05-04". */
function momentName(moment) {
  const parts = moment.split("-").length;
  if (parts === 1) return moment;
  return parts === 2 ? monthName(`${moment}-15`) : longDate(`${moment}T12:00`);
}

const pathOf = ({ id }, rest = "") => bankPath(`/facts/${id}${rest}`);

/** Opens the chat at the latest message of a fact. */
function sourceButton({ seqs, said_at }) {
  const open = withErrors(async () => {
    const { bank } = route;
    const { session, seq } = await get(bankPath(`/lines/${seqs.at(-1)}`));
    if (bank === route.bank) await navigate({ view: "read", session, seq });
  });
  const label = said_at ? t("facts.said", { date: longDate(said_at) }) : longDate(null);
  return button(shortDate(said_at), open, { class: "link", title: t("memory.open"), "aria-label": `${t("memory.open")}: ${label}` });
}
