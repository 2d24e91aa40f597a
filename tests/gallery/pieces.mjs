// What the page's own scripts make of texts: reads {model, texts, words, rows, bounds, rules, usual} from stdin, answers
// as JSON.

import { readFileSync } from "node:fs";
import { beyondWarning, unsureWarning, warnUnusual } from "./engine/doubt.js";
import { Bound } from "./engine/reading.js";
import { words } from "./engine/text.js";
import { Tokenizer } from "./engine/tokenizer.js";

const asked = JSON.parse(readFileSync(0, "utf-8"));
const tokenizer = await Tokenizer.of(new Uint8Array(Buffer.from(asked.model, "base64")), "tokenizer");
const { before, after, eos, unknown, pieces } = tokenizer;
const readings = asked.bounds.map(([most, overlong, side]) => {
  const bound = new Bound(most, overlong, side, unknown), encode = (text) => tokenizer.encode(text);
  return [
    asked.texts.map((text) => bound.read(text, encode, tokenizer)),
    asked.texts.map((text) => bound.readWords(text, (word) => tokenizer.encodeWord(word), tokenizer)),
  ];
});
const found = { before, after, eos, unknown, pieces, readings };
found.ids = asked.texts.map((text) => tokenizer.encode(text));
found.words = asked.words.map((word) => tokenizer.encodeWord(word));
found.decoded = asked.rows.map((row) => tokenizer.decode(row));
const { usual, confidences, rules } = asked, bound = new Bound(), encode = (text) => tokenizer.encode(text);
found.common = tokenizer.common;
found.noticed = asked.texts.map((text) => warnUnusual(bound.read(text, encode, tokenizer), usual, tokenizer.common).warning);
found.unsure = confidences.map((confidence) => unsureWarning(confidence, usual));
found.beyond = asked.ratings.map((rating) => beyondWarning(rating, usual));
found.cut = rules.map((steps) => {
  const compiled = steps.map(([pattern, becomes]) => [new RegExp(pattern, "gu"), becomes]);
  return asked.texts.map((text) => words(text, compiled));
});
process.stdout.write(JSON.stringify(found));
