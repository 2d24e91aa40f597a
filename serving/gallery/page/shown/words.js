// Tagged words: a colour for each tag, and the probability of the tag.

import { make, percent } from "./element.js";

const TURN = 137.508; // degrees between the hues of tags that follow each other in the list of labels

export function words({ words }) {
  const tags = new Map(words.map((word) => [word.tag, word.tags[0].index]));
  const items = words.map((word) => {
    const [, second] = word.tags;
    const label = `${word.text}: ${word.tag}, ${percent(word.score)}${second ? `; else ${second.label}, ${percent(second.probability)}` : ""}`;
    return make("li", { "--hue": (word.tags[0].index * TURN) % 360, "--share": word.score, title: label, class: word.score < 0.6 ? "unsure" : null },
      make("span", { class: "word", dir: "auto" }, word.text),
      make("span", { class: "tag" }, word.tag),
      make("span", { class: "number" }, percent(word.score, 0)));
  });
  const legend = Array.from(tags, ([tag, index]) => make("li", { "--hue": (index * TURN) % 360 }, make("span", { class: "tag" }, tag)));
  return make("div", {},
    make("ol", { class: "words", "aria-label": "Words with their tags" }, ...items),
    make("ul", { class: "legend", "aria-label": "Tags of this text" }, ...legend),
    make("p", { class: "hint" }, "A dashed frame: the tag has less than 60 %."));
}
