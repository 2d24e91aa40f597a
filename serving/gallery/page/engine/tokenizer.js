// The tokenizer of an artefact: SentencePiece itself, compiled to WebAssembly, or another kind, which begins with "{".

import createSentencePiece from "../vendor/sentencepiece.mjs";
import { readTokenizer } from "./pieces.js";
import { fields, text } from "./protobuf.js";

const AROUND = 200; // the field with the ids that stand around every text, as JSON
const NORMAL = 1, UNKNOWN = 2, CONTROL = 3, BYTE = 6; // of SentencePiece.Type
const UNKNOWN_COSTS = 10; // of log p, more than the rarest piece
let library; // one instance serves all tokenizers

export class Tokenizer {
  /** Start SentencePiece before there is a tokenizer. */
  static begin() {
    library ??= createSentencePiece();
    library.catch(() => {}); // `of` says it
  }

  static async of(bytes, name) {
    if (bytes[0] === 0x7b) return readTokenizer(bytes);
    Tokenizer.begin();
    return new Tokenizer(await library, bytes, name);
  }

  constructor(library, bytes, name) {
    Object.assign(this, { library, ...vocabulary(bytes) });
    const file = `${name}.model`;
    library.FS.writeFile(file, bytes);
    this.processor = new library.SentencePieceProcessor();
    const status = this._with(file, (path) => this.processor.Load(path));
    const state = status.ToString();
    status.delete();
    library.FS.unlink(file);
    if (state !== "OK" || this.eos < 0 || this.unknown < 0) throw new Error(`The tokenizer ${name} is damaged: ${state}`);
  }

  encode(text) {
    return this._with(text, (view) => {
      const vector = this.processor.EncodeAsIds(view);
      const ids = Array.from({ length: vector.size() }, (_, place) => vector.get(place));
      vector.delete();
      return ids;
    });
  }

  /** The ids of a word by itself, as a tagger reads it: at least one. */
  encodeWord(word) {
    const ids = this.encode(word);
    return ids.length ? ids : [this.unknown];
  }

  decode(ids) {
    const list = this.library.vecFromJSArray(ids);
    const text = String(this.processor.DecodeIds(list));
    list.delete();
    return text;
  }

  _with(text, use) {
    const string = new this.library.StringView(text), view = string.getView();
    try {
      return use(view);
    } finally {
      view.delete();
      string.delete();
    }
  }
}

/** `{pieces, eos, unknown, before, after, common}` of the bytes of a model; an id that it does not have is -1. */
function vocabulary(bytes) {
  const pieces = [], scores = [], types = [];
  let unknown = -1, end = "</s>", around;
  for (const { number, value } of fields(bytes)) {
    if (number === 1) {
      let piece = "", type = NORMAL, score = 0;
      for (const each of fields(value)) {
        if (each.number === 1) piece = text(each.value);
        if (each.number === 2) score = new Float32Array(each.value.slice().buffer)[0];
        if (each.number === 3) type = each.value;
      }
      if (type === UNKNOWN) unknown = pieces.length;
      pieces.push(piece);
      scores.push(score);
      types.push(type);
    } else if (number === 2) {
      for (const each of fields(value)) if (each.number === 47) end = text(each.value);
    } else if (number === AROUND) around = JSON.parse(text(value));
  }
  const eos = pieces.indexOf(end), [before, after] = around ?? [[], [eos]];
  return { pieces, eos, unknown, before, after, common: logProbabilities(scores, types) };
}

/** How common each piece is where the pieces were learnt, as `log_probabilities` of zoo/text/tokenizer.py. */
function logProbabilities(scores, types) {
  const learnt = Array.from(types.keys()).filter((id) => ![UNKNOWN, CONTROL, BYTE].includes(types[id])), found = [...scores];
  // The scores of merges are ranks, of which Zipf's law makes probabilities.
  if (learnt.every((id, rank) => scores[id] === -rank)) learnt.forEach((id, rank) => { found[id] = -Math.log(rank + 1); });
  const rarest = learnt.reduce((least, id) => Math.min(least, found[id]), learnt.length ? Infinity : 0);
  const rare = { [BYTE]: rarest, [UNKNOWN]: rarest - UNKNOWN_COSTS };
  return found.map((value, id) => rare[types[id]] ?? value);
}
