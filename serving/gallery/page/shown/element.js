// Elements of the page, in one call.

/** An element: `make("p", {class: "hint", onclick: f}, "text", another)`. Attributes that are null are left out. */
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key.startsWith("--")) element.style.setProperty(key, value); // the only styles that code sets
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** A share as a percentage; none below 100 is written as 100, as on the command line. */
export function percent(share, digits = 1) {
  const value = share * 100, text = value.toFixed(digits);
  return `${value < 100 && Number(text) >= 100 ? (100 - 10 ** -digits).toFixed(digits) : text} %`;
}

/** A piece of a tokenizer as it is shown: the mark for a space as a space that can be seen. */
export function visible(piece) {
  const names = { "</s>": "end", "<s>": "start", "<unk>": "unknown", "<pad>": "padding" };
  return names[piece] ?? piece.replaceAll("▁", "␣").replaceAll("\n", "↵");
}
