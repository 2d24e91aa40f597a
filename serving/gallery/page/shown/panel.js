// The answer of one model, and what is known about it.

import { attention } from "./attention.js";
import { exits, ponder, spans } from "./depth.js";
import { make, percent } from "./element.js";
import { labels } from "./labels.js";
import { words } from "./words.js";
import { hypotheses, tokens, tree } from "./written.js";

const size = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;

/** The headline of an answer. */
function answer(entry, result, text, language) {
  if (result.error) return make("p", { class: "note" }, `No answer: ${result.error}.`);
  if (entry.prompts) {
    return make("p", { class: "answer text", dir: "auto", lang: language }, make("span", { class: "prompt" }, text), make("span", { class: "more" }, result.text));
  }
  if (result.words) return result.words.length ? words(result) : blank();
  if (!result.text) return blank();
  const share = "probability" in result ? make("span", { class: "number" }, ` ${percent(result.probability)}`) : null;
  return make("p", { class: "answer", dir: "auto", lang: language }, make("output", {}, result.text), share);
}

const blank = () => make("p", { class: "note" }, "A blank text has a blank answer.");

/** All that is shown of a result, but for what the model did inside, which comes later. */
export function showAnswer(entry, result, text) {
  const language = entry.languages.length === 1 && entry.prompts ? entry.languages[0] : null;
  const parts = [answer(entry, result, text, language)];
  if (result.warning) parts.push(make("p", { class: "note" }, `Note: ${result.warning}.`));
  if (result.labels?.length) parts.push(labels(result));
  parts.push(make("p", { class: "hint" }, `${result.milliseconds.toFixed(0)} ms in this browser, on one thread`));
  return parts;
}

/** What the model did on the way to the answer. */
export function showInside(entry, result, found) {
  const parts = [];
  if (result.hypotheses) parts.push(hypotheses(result));
  if (found.attention) parts.push(attention(found));
  if (found.exits) parts.push(exits(found.exits));
  if (found.tree) parts.push(tree(found));
  if (found.tokens) parts.push(tokens(found));
  if (found.spans) parts.push(spans(found.spans));
  if (found.ponder) parts.push(ponder(found.ponder));
  if (result.ids.length) parts.push(...unseen(entry, found).map((text) => make("p", { class: "hint" }, text)));
  return parts.filter(Boolean);
}

/** What cannot be shown of a model, and why, in a sentence each. */
function unseen(entry, found) {
  if (entry.prompts) {
    return ["Attention is not drawn here: each token adds a key to it, and from a loop a graph gives out only what keeps its size."];
  }
  if (!entry.has_source) return [];
  if (!found.tree) return ["The tree and what comes with it are not drawn: replayed with the numbers of this browser, the search ends with other hypotheses, because two of them score almost the same."];
  if (found.attention) return [];
  if (entry.attention === "none") return ["There is no attention to draw: this model was made without it, and knows the text by one state alone."];
  return ["Attention is not drawn: the graph of this model keeps its weights to itself."];
}

/** Who made a model, of what, and under which licence. */
export function facts(entry) {
  const bytes = Object.values(entry.bytes).reduce((sum, each) => sum + each, 0);
  const layers = [entry.system, entry.cell, entry.attention, entry.feedforward, entry.block, entry.depth];
  const parts = [...new Set(layers.filter((each) => each && each !== "none"))];
  const data = [entry.data_licence].flat().filter(Boolean).join(", ");
  const rows = [
    ["made of", parts.join(", ")],
    ["parameters", entry.parameters?.toLocaleString("en")],
    ["languages", entry.languages.join(", ")],
    ["size", size(bytes)],
    ["weights", entry.licence],
    ["data", [entry.data, data].filter(Boolean).join("; ")],
    ["attribution", entry.attribution],
  ].filter(([, value]) => value);
  return make("details", { class: "facts" }, make("summary", {}, "About this model"),
    make("dl", {}, ...rows.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)])));
}
