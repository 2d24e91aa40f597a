// The page: which models there are, a text, and their answers side by side.

import { Engine } from "../engine/client.js";
import { make } from "./element.js";
import { facts, showAnswer, showInside } from "./panel.js";

const TASKS = {
  translate: "Translation and dates", transduce: "Pronunciation", continue: "Language models",
  classify: "Labels of texts", compare: "Labels of pairs", tag: "Tags of words",
};
const at = (id) => document.getElementById(id);
const engine = new Engine();
let gallery, asked = 0;

// For tests and for the console: a promise of {ids, text}, and of more.
window.seqzoo = {
  run: (name, text, options) => engine.run(name, text, options),
  inside: (name, result) => engine.inside(name, result),
};

const entry = (name) => gallery.models.find((each) => each.name === name);
const chosenNames = () => [at("model").value, at("other").value].filter(Boolean);
const say = (text) => { at("status").textContent = text; };

function options(select, blank) {
  const groups = Map.groupBy?.(gallery.models, (each) => each.task) ?? groupByTask(gallery.models);
  const made = Array.from(groups, ([task, models]) =>
    make("optgroup", { label: TASKS[task] ?? task }, ...models.map((each) => make("option", { value: each.name }, each.name))));
  select.replaceChildren(...(blank ? [make("option", { value: "" }, blank)] : []), ...made);
}

function groupByTask(models) {
  const found = new Map();
  for (const each of models) found.set(each.task, [...(found.get(each.task) ?? []), each]);
  return found;
}

/** What belongs to the model that was chosen: its description, examples, and how it writes. */
function showChoice(keepText) {
  asked += 1; // an answer that is still on its way belongs to another choice
  const model = entry(at("model").value);
  at("about").textContent = model.description || `${model.name}, a model of the kind “${model.kind}”.`;
  at("ruling").hidden = !model.rules;
  at("prefix").parentElement.hidden = model.prompts;
  at("coverage_penalty").parentElement.hidden = !("coverage_penalty" in (model.rules ?? {}));
  at("drawing").hidden = !model.prompts || !("sample" in model.graphs);
  at("examples").replaceChildren(...model.examples.map((text) =>
    make("button", { type: "button", class: "plain", dir: "auto", onclick: () => { at("text").value = text; ask(); } }, text)));
  if (!keepText) at("text").value = model.examples[0] ?? "";
  const { languages } = model;
  if (languages.length === 1) at("text").lang = languages[0];
  else at("text").removeAttribute("lang");
  at("results").replaceChildren();
  history.replaceState(null, "", `#${chosenNames().map(encodeURIComponent).join("+")}`);
  say("");
}

/** The options of a run; those that are about writing only where the model writes on. */
function readOptions(model) {
  const rules = readRules(model);
  const found = Object.keys(rules).length ? { rules } : {};
  return model.prompts ? { ...found, ...readSampling(model) } : found;
}

/** The rules of the search that are given, of a model that takes any. */
function readRules(model) {
  if (!model.rules) return {};
  const names = ["no_repeat_ngram_size", "repetition_penalty", "min_length", "coverage_penalty"];
  const taken = names.filter((name) => name !== "coverage_penalty" || name in model.rules).map((name) => [name, at(name)]);
  const given = taken.filter(([, input]) => input.value !== "" && input.validity.valid);
  const found = Object.fromEntries(given.map(([name, input]) => [name, input.valueAsNumber]));
  const words = at("bad_words").value.split(/\s+/).filter(Boolean), prefix = at("prefix").value.trim();
  if (words.length) found.bad_words = words;
  return prefix && !model.prompts ? { ...found, prefix } : found;
}

function readSampling(model) {
  const length = Math.min(600, Math.max(1, at("length").valueAsNumber || 60));
  const draws = at("sample").checked && "sample" in model.graphs;
  const temperature = Math.max(0, at("temperature").valueAsNumber || 0), seed = Math.max(0, Math.floor(at("seed").valueAsNumber || 0));
  return draws ? { length, sampling: { temperature, seed } } : { length };
}

async function ask() {
  const mine = (asked += 1), text = at("text").value;
  const names = [...new Set(chosenNames())];
  at("results").setAttribute("aria-busy", "true");
  say(`Asking ${names.join(" and ")}.`);
  const panels = names.map((name) => {
    const body = make("div", { class: "body" }, make("p", { class: "hint" }, "Loading and thinking."));
    const panel = make("section", { class: "panel", "aria-labelledby": `head-${name}` },
      make("h2", { id: `head-${name}` }, name), make("p", { class: "hint" }, entry(name).description), body, facts(entry(name)));
    return { name, body, panel };
  });
  at("results").replaceChildren(...panels.map((each) => each.panel));
  const answers = [];
  for (const { name, body } of panels) {
    try {
      const result = await engine.run(name, text, readOptions(entry(name)));
      if (mine !== asked) return;
      answers.push(result.text);
      body.replaceChildren(...showAnswer(entry(name), result, text));
      const found = await askInside(name, result);
      if (mine !== asked) return;
      body.append(...(found instanceof Error ? [make("p", { class: "note" }, found.message)] : showInside(entry(name), result, found)));
    } catch (error) {
      if (mine !== asked) return;
      body.replaceChildren(make("p", { class: "note" }, error.message));
    }
  }
  at("results").removeAttribute("aria-busy");
  const same = answers.length === 2 ? (answers[0] === answers[1] ? " Both answer the same." : " They answer differently.") : "";
  say(answers.length < names.length ? "Not every model could answer." : `Done.${same}`);
}

/** What a model did on the way to a result, or why that is not known: the answer stands nevertheless. */
async function askInside(name, result) {
  try {
    return await engine.inside(name, result);
  } catch (error) {
    return new Error(`What the model did inside cannot be shown: ${error.message}`);
  }
}

/** Open the chosen models when somebody begins to write, or is about to run them. */
function prepare({ target }) {
  if (target instanceof HTMLSelectElement) return; // one model after another is being looked at
  for (const name of chosenNames()) engine.prepare(name, readOptions(entry(name)));
}

/** Choose the models that the address names, as in #dates+dates-pre-norm. */
function fromAddress() {
  const [first, second] = location.hash.slice(1).split("+").map(decodeURIComponent);
  if (entry(first)) at("model").value = first;
  at("other").value = entry(second) ? second : "";
  showChoice();
}

/**
 * Keep what was loaded for use without a network. The service worker, which fetches all files of the page, begins when
 * the engine runs and nobody waits for an answer; what models read before it was there is fetched by it then.
 */
async function remember() {
  const { serviceWorker } = navigator, early = !serviceWorker.controller;
  await engine.ready;
  await engine.rest();
  const controlled = new Promise((resolve) => serviceWorker.addEventListener("controllerchange", resolve, { once: true }));
  await serviceWorker.register("offline.js");
  if (!early) return;
  if (!serviceWorker.controller) await controlled;
  await fetchAll(await engine.ask("used"));
}

/** Fetch every file of every model, which the service worker then keeps. */
async function keep() {
  const files = gallery.models.flatMap((each) => Object.keys(each.bytes).map((name) => `${each.folder}/${name}`));
  await fetchAll(files, (count) => say(`${count} of ${files.length} files are kept.`)).catch((error) => say(error.message));
}

/** Fetch some files, one after another; `report(count)` is called after each. */
async function fetchAll(paths, report = () => {}) {
  for (const [place, path] of paths.entries()) {
    const answer = await fetch(path.split("/").map(encodeURIComponent).join("/"));
    if (!answer.ok) throw new Error(`${path} cannot be read.`);
    await answer.arrayBuffer();
    report(place + 1);
  }
}

async function begin() {
  try {
    gallery = await (await fetch("gallery.json", { cache: "no-cache" })).json();
  } catch {
    return say("gallery.json cannot be read. A gallery needs a file server, such as: python -m http.server -d FOLDER");
  }
  options(at("model"));
  options(at("other"), "no other model");
  fromAddress();
  addEventListener("hashchange", fromAddress);
  at("model").addEventListener("change", () => showChoice());
  at("other").addEventListener("change", () => showChoice(true));
  at("ask").addEventListener("submit", (event) => { event.preventDefault(); ask(); });
  at("text").addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) ask(); });
  at("ask").addEventListener("focusin", prepare);
  at("keep").addEventListener("click", keep);
  const bytes = gallery.models.flatMap((each) => Object.values(each.bytes)).reduce((sum, each) => sum + each, 0);
  at("keep").textContent += ` (${(bytes / 1e6).toFixed(0)} MB)`;
  at("engine").textContent = Object.entries(gallery.engine.packages).map(([name, version]) => `${name} ${version}`).join(", ");
  at("keep").hidden = !("serviceWorker" in navigator);
  if ("serviceWorker" in navigator) remember().catch(() => { at("keep").hidden = true; });
  window.seqzoo.models = gallery.models.map((each) => each.name);
  document.body.dataset.ready = "";
}

begin();
