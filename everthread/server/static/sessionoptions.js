// What can be done with a conversation in the list: rename, tag, pin, archive, delete.

import { bankPath, patch } from "./api.js";
import { openDialog, showReceipt } from "./dialogs.js";
import { button, h } from "./dom.js";
import { emit, emitForgotten } from "./events.js";
import { forgetChat } from "./groupcopies.js";
import { withErrors } from "./notices.js";
import { navigate, route } from "./router.js";
import { tagsOf } from "./sessionfilter.js";
import { t } from "./words.js";

export function openSessionOptions(session) {
  const { title, model_title, opening, metadata } = session;
  return openDialog(t("options.title"), (close) => {
    const name = h("input", { dir: "auto", value: title ?? "", placeholder: model_title ?? opening ?? "", autofocus: true });
    const tags = h("input", { dir: "auto", value: tagsOf(session).join(", "), placeholder: t("options.tags_example") });
    const pinned = h("input", { type: "checkbox", checked: metadata.pinned === true });
    const archived = h("input", { type: "checkbox", checked: metadata.archived === true });
    const save = withErrors(async (event) => {
      event.preventDefault();
      const values = splitTags(tags.value);
      const flags = { tags: values.length ? values : null, pinned: pinned.checked || null, archived: archived.checked || null };
      await patch(pathOf(session), { title: name.value.trim(), metadata: flags });
      emit("sessions-changed");
      close();
    });
    return h(
      "form",
      { class: "fields", on: { submit: save } },
      h("label", {}, h("span", {}, t("options.name")), name),
      h("label", {}, h("span", {}, t("options.tags")), tags),
      h("label", { class: "check" }, pinned, t("options.pin")),
      h("label", { class: "check" }, archived, t("options.archive")),
      h(
        "div",
        { class: "bar end" },
        button(t("options.delete"), () => deleteSession(session, close), { class: "danger" }),
        h("button", { type: "submit", class: "primary" }, t("dialog.save")),
      ),
    );
  });
}

const pathOf = (session) => bankPath(`/sessions/${encodeURIComponent(session.id)}`);

const splitTags = (text) => [...new Set(text.split(/[,，、]/).map((tag) => tag.trim()).filter(Boolean))];

const deleteSession = withErrors(async (session, close) => {
  const proof = await forgetChat(session);
  if (!proof) return;
  close();
  emitForgotten(proof);
  await showReceipt(proof);
  if (route.session === session.id) navigate({});
});
