// The attention map over the pieces of a text: which of them each piece of the answer was written from.

import { make, percent, visible } from "./element.js";

/** The map, and where there are many a choice among them. */
export function attention({ attention: { source, target, maps } }) {
  const frame = make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Attention map" });
  const show = (place) => frame.replaceChildren(table(source, target, maps[place].rows));
  show(0);
  const choice = make("select", { onchange: () => show(choice.selectedIndex) }, ...maps.map(({ name }) => make("option", {}, name)));
  return make("section", { class: "inside" }, make("h3", {}, "Attention"),
    make("p", { class: "hint" }, "Weights in per cent: columns are the pieces that were read, rows those that were written."),
    maps.length > 1 ? make("label", { class: "choice" }, "Map of ", choice) : null, frame);
}

function table(source, target, rows) {
  const head = source.map((piece) => make("th", { scope: "col" }, make("span", {}, visible(piece))));
  const body = rows.map((row, place) =>
    make("tr", {}, make("th", { scope: "row" }, visible(target[place])), ...(row ? cells(row, source, target[place]) : [left(source.length)])));
  return make("table", { class: "attention", "aria-label": "Weights of attention in per cent" },
    make("thead", {}, make("tr", {}, make("td", {}), ...head)), make("tbody", {}, ...body));
}

function cells(row, source, piece) {
  const most = Math.max(...row);
  return row.map((weight, column) =>
    make("td", { "--weight": weight.toFixed(3), class: weight === most ? "most" : null, title: `${visible(piece)} from ${visible(source[column])}: ${percent(weight)}` },
      make("span", {}, String(Math.round(weight * 100)))));
}

const left = (columns) => make("td", { colspan: columns, class: "left" }, "had left before this block");
