// SentencePiece itself, compiled to WebAssembly, over the bytes of an artefact's tokenizer.

import createSentencePiece from "../vendor/sentencepiece.mjs";
import { fields, text } from "./protobuf.js";

const UNKNOWN = 2; // of SentencePiece.Type; a piece that has no type is a normal one
let library; // one instance serves all tokenizers

export class Tokenizer {
  /** Start SentencePiece before there is a tokenizer. */
  static begin() {
    library ??= createSentencePiece();
    library.catch(() => {}); // `of` says it
  }

  static async of(bytes, name) {
    Tokenizer.begin();
    return new Tokenizer(await library, bytes, name);
  }

  constructor(library, bytes, name) {
    Object.assign(this, { library, ...vocabulary(bytes) });
    const file = `${name}.model`;
    library.FS.writeFile(file, bytes);
    this.processor = new library.SentencePieceProcessor();
    const status = this._with(file, (path) => this.processor.Load(path));
    const said = status.ToString();
    status.delete();
    library.FS.unlink(file);
    if (said !== "OK" || this.eos < 0 || this.unknown < 0) throw new Error(`The tokenizer ${name} is damaged: ${said}`);
  }

  encode(text) {
    return this._with(text, (view) => {
      const found = this.processor.EncodeAsIds(view);
      const ids = Array.from({ length: found.size() }, (_, place) => found.get(place));
      found.delete();
      return ids;
    });
  }

  decode(ids) {
    const list = this.library.vecFromJSArray(ids);
    const found = String(this.processor.DecodeIds(list));
    list.delete();
    return found;
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

/** `{pieces, eos, unknown}` of the bytes of a model; an id that it does not have is -1. */
function vocabulary(bytes) {
  const pieces = [];
  let unknown = -1, end = "</s>";
  for (const { number, value } of fields(bytes)) {
    if (number === 1) {
      let piece = "", type = 1;
      for (const each of fields(value)) {
        if (each.number === 1) piece = text(each.value);
        if (each.number === 3) type = each.value;
      }
      if (type === UNKNOWN) unknown = pieces.length;
      pieces.push(piece);
    } else if (number === 2) {
      for (const each of fields(value)) if (each.number === 47) end = text(each.value);
    }
  }
  return { pieces, eos: pieces.indexOf(end), unknown };
}
