// How deep and how far a model looked: ponder steps of sentences, the block each piece left after, and learned spans.

import { make, visible } from "./element.js";

/** A list of texts with the steps that each took, of `most`. */
function listSteps(items, most, unit) {
  const rows = items.map(({ text, steps }) =>
    make("li", {},
      make("span", { class: "said", dir: "auto" }, text),
      make("span", { class: "steps", role: "img", "aria-label": `${steps} of ${most} ${unit}` },
        ...Array.from({ length: most }, (_, step) => make("i", { class: step < steps ? "on" : "off" }))),
      make("span", { class: "number", "aria-hidden": "true" }, `${steps} of ${most}`)));
  return make("ol", { class: "ponder" }, ...rows);
}

/** The sentences of a story, each with the steps that it took until it halted. */
export function ponder({ steps, units }) {
  const most = Math.max(steps, ...units.map((each) => each.steps));
  return make("section", { class: "inside" },
    make("h3", {}, "Ponder steps"),
    make("p", { class: "hint" }, "How often the Universal Transformer thought about each sentence before that sentence halted."),
    listSteps(units, most, "steps"));
}

/** The pieces of an answer, each with the blocks that it went through. */
export function exits({ blocks, pieces }) {
  const mean = pieces.reduce((sum, each) => sum + each.exit, 0) / pieces.length;
  return make("section", { class: "inside" },
    make("h3", {}, "Early exits"),
    make("p", { class: "hint" }, `How many of the ${blocks} blocks each piece of the answer went through before it left: ${mean.toFixed(1)} on average.`),
    listSteps(pieces.map(({ piece, exit }) => ({ text: visible(piece), steps: exit })), blocks, "blocks"));
}

/** What each head of an adaptive-span attention sees of the text before its last piece, the weight falling on a ramp. */
export function spans({ ramp, blocks, before }) {
  const distance = (place) => before.length - 1 - place; // the last piece is the one that looks back; no head sees it
  const weight = (span, place) => (distance(place) ? Math.min(1, Math.max(0, (ramp + span - distance(place)) / ramp)) : 0);
  const rows = blocks.flatMap((heads, block) => heads.map((span, head) => {
    const cells = before.map((piece, place) => make("i", { "--weight": weight(span, place).toFixed(3), class: distance(place) ? null : "here" }, visible(piece)));
    const label = `Block ${block + 1}, head ${head + 1}: ${span.toFixed(1)} pieces back in full, none from ${Math.ceil(span + ramp)} on`;
    return make("li", {},
      make("span", { class: "number" }, `block ${block + 1}, head ${head + 1}: ${span.toFixed(1)}`),
      make("span", { class: "seen", role: "img", "aria-label": label, title: label, dir: "ltr" }, ...cells));
  }));
  return make("section", { class: "inside" },
    make("h3", {}, "Learned spans"),
    make("p", { class: "hint" }, `How many pieces back each head looks in full; behind that, what it sees falls to nothing over ${ramp} more. Below is what that is of this text, seen from its last piece (framed).`),
    make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Learned spans" }, make("ul", { class: "spans" }, ...rows)));
}
