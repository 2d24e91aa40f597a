// What was written: the hypotheses, the tree of the search, and the tokens of a language model.

import { make, percent, visible } from "./element.js";

/** The hypotheses that a search has ended with. */
export function hypotheses({ hypotheses }) {
  if (hypotheses.length < 2) return null;
  const rows = hypotheses.map((each) =>
    make("li", {}, make("span", { class: "said", dir: "auto" }, each.text || "(nothing)"), make("span", { class: "number" }, each.score.toFixed(3))));
  return make("section", { class: "inside" },
    make("h3", {}, "Hypotheses"),
    make("p", { class: "hint" }, "The best ends of the search, with their scores: log-probabilities, divided by a penalty for short texts."),
    make("ol", { class: "hypotheses" }, ...rows));
}

/** The tree of a beam search. Pieces that follow each other without a choice share a line. */
export function tree({ tree: root }) {
  rank(root);
  return make("section", { class: "inside" },
    make("h3", {}, "The beam as a tree"),
    make("p", { class: "hint" }, "A line goes on from the one that it stands under; its percentage is that of its pieces, given all before. Open a line to see what follows."),
    make("ul", { class: "tree" }, ...ordered(root).map((child) => branch(child))));
}

/** Tells for every node the best rank of the final hypotheses that go through it; none have Infinity. */
function rank(node) {
  node.leads = Math.min(node.rank ?? Infinity, ...node.children.map(rank));
  return node.leads;
}

const ordered = ({ children }) => [...children].sort((one, other) => other.logProb - one.logProb);

function branch(node) {
  const run = [node];
  while (run.at(-1).children.length === 1) run.push(run.at(-1).children[0]);
  const last = run.at(-1), kept = last.leads < Infinity;
  const share = Math.exp(run.reduce((sum, each) => sum + each.logProb, 0));
  const line = [
    make("span", { class: "pieces", dir: "auto" }, run.map((each) => visible(each.piece)).join(" ")),
    make("span", { class: "number" }, percent(share)),
    last.rank === undefined ? null : make("span", { class: "rank" }, `rank ${last.rank + 1}, ${last.score.toFixed(3)}`),
    kept ? null : make("span", { class: "hint" }, "given up"),
  ];
  const name = last.leads === 0 ? "best" : kept ? "kept" : "lost";
  if (!last.children.length) return make("li", { class: name }, make("div", { class: "leaf" }, ...line));
  const inner = make("ul", {}, ...ordered(last).map((child) => branch(child)));
  return make("li", { class: name }, make("details", { open: last.leads === 0 && last.depth < 4 }, make("summary", {}, ...line), inner));
}

/** The tokens of a language model, each a place from which the arrow keys go to the next. */
export function tokens({ tokens }) {
  const shown = make("div", { class: "others", role: "status" });
  const buttons = tokens.map((token, place) =>
    make("button", {
      type: "button", class: "token", tabindex: place ? "-1" : "0", "--share": token.probability,
      "aria-label": `${visible(token.text)}, ${percent(token.probability)}`,
      onclick: () => choose(place), onfocus: () => choose(place),
    }, token.text === "\n" ? "↵\n" : token.text));
  const choose = (place) => {
    buttons.forEach((button, other) => {
      button.setAttribute("tabindex", other === place ? "0" : "-1");
      button.classList.toggle("chosen", other === place);
    });
    const rows = tokens[place].others.map((each) =>
      make("li", { "--share": each.probability }, make("span", { class: "name" }, visible(each.piece)), make("span", { class: "bar", "aria-hidden": "true" }), make("span", { class: "number" }, percent(each.probability))));
    shown.replaceChildren(make("p", { class: "hint" }, `Token ${place + 1}: what might have stood here`), make("ol", { class: "bars" }, ...rows));
  };
  const move = (event) => {
    const now = buttons.indexOf(document.activeElement);
    const next = { ArrowRight: now + 1, ArrowLeft: now - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (now < 0 || next === undefined || !buttons[next]) return;
    event.preventDefault();
    buttons[next].focus();
  };
  return make("section", { class: "inside" },
    make("h3", {}, "Token by token"),
    make("p", { class: "hint" }, "The stronger the colour, the less likely the token was. Choose one, also with the arrow keys, to see what else was likely."),
    make("div", { class: "tokens", role: "toolbar", "aria-label": "Tokens that were written", onkeydown: move }, ...buttons), shown);
}
