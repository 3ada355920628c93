// The filters of the list of chats and of the search: who, when, tag, and archived chats.

import { bankPath, get, getAll } from "./api.js";
import { UNNAMED } from "./banknames.js";
import { button, byId, fill, h } from "./dom.js";
import { on } from "./events.js";
import { withErrors } from "./notices.js";
import { t } from "./words.js";

const speakerLabel = (name) => (name === UNNAMED ? t("line.you") : name || t("filter.anyone"));

export class SessionFilter {
  /** onChange: called when a filter was changed. */
  constructor(onChange) {
    this.onChange = onChange;
    const changed = { on: { change: onChange } };
    this.speaker = h("select", changed);
    this.since = h("input", { type: "date", ...changed });
    this.until = h("input", { type: "date", ...changed });
    this.tag = h("input", { dir: "auto", autocomplete: "off", list: "known-tags", ...changed });
    this.archived = h("input", { type: "checkbox", ...changed });
    this.tags = h("datalist", { id: "known-tags" });
    this.box = byId("filters");
    this.box.append(
      labelled(t("filter.speaker"), this.speaker),
      labelled(t("filter.from"), this.since),
      labelled(t("filter.to"), this.until),
      labelled(t("filter.tag"), this.tag),
      h("label", { class: "check" }, this.archived, t("filter.archived")),
      button(t("filter.clear"), () => this.clear(), { class: "link" }),
      this.tags,
    );
    const readSpeakers = withErrors(() => this.readSpeakers());
    this.box.addEventListener("toggle", () => this.box.open && readSpeakers());
    on("bank", () => this.reset());
  }

  async readSpeakers() {
    const { speakers } = await get(bankPath());
    const chosen = this.speaker.value;
    fill(
      this.speaker,
      ["", ...speakers].map((name) => h("option", { value: name }, speakerLabel(name))),
    );
    this.speaker.value = speakers.includes(chosen) ? chosen : "";
  }

  /** Offer the tags of these chats. */
  offerTags(sessions) {
    const tags = new Set(sessions.flatMap(tagsOf));
    fill(
      this.tags,
      [...tags].sort().map((tag) => h("option", { value: tag })),
    );
  }

  reset() {
    for (const field of [this.since, this.until, this.tag]) field.value = "";
    fill(this.speaker);
    this.archived.checked = false;
    this.box.open = false;
  }

  clear() {
    this.reset();
    this.onChange();
  }

  /** Show one month, named like 2024-05. */
  showMonth(month) {
    const [year, number] = month.split("-").map(Number);
    this.since.value = `${month}-01`;
    this.until.value = `${month}-${new Date(year, number, 0).getDate()}`;
    this.box.open = true;
    this.onChange();
  }

  get times() {
    const [since, until] = [this.since.value, this.until.value].map((day) => day && new Date(`${day}T00:00`));
    if (until) until.setDate(until.getDate() + 1);
    return { ...(since && { since: since.toISOString() }), ...(until && { until: until.toISOString() }) };
  }

  get isActive() {
    return Boolean(this.since.value || this.until.value || this.tag.value.trim() || this.archived.checked);
  }

  /** The query of the list of chats. */
  get query() {
    const tag = this.tag.value.trim();
    return new URLSearchParams({ limit: 50, archived: this.archived.checked, ...this.times, ...(tag && { tag }) });
  }

  /** What a search is restricted to. */
  async readWhere() {
    const tag = this.tag.value.trim();
    const tagged = tag && (await getAll(bankPath(`/sessions?${new URLSearchParams({ tag })}`)));
    const speaker = this.speaker.value;
    return { ...this.times, ...(speaker && { speaker }), ...(tagged && { session: tagged.map(({ id }) => id) }) };
  }
}

/** The tags in the metadata of a chat, which may hold anything under this name. */
export const tagsOf = ({ metadata: { tags } }) =>
  Array.isArray(tags) ? tags.filter((tag) => typeof tag === "string") : [];

const labelled = (name, field) => h("label", { class: "filter" }, h("span", { class: "small" }, name), field);
