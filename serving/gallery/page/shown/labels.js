// Labels of a text with their probabilities.

import { make, percent } from "./element.js";

const SHOWN = 6;

export function labels({ labels, inScope, text }) {
  const rows = labels.slice(0, SHOWN).map((each) =>
    make("li", { "--share": each.probability },
      make("span", { class: "name" }, each.label),
      make("span", { class: "bar", "aria-hidden": "true" }),
      make("span", { class: "number" }, percent(each.probability))));
  const note = inScope ? null
    : make("p", { class: "note" }, `No label is likely enough (the likeliest has ${percent(labels[0].probability)}): out of scope, “${text}”.`);
  const more = labels.length > SHOWN ? make("p", { class: "hint" }, `and ${labels.length - SHOWN} less likely labels`) : null;
  return make("div", {}, note, make("ol", { class: "bars", "aria-label": "Labels, the most probable first" }, ...rows), more);
}
