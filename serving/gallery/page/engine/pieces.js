// WordPiece and byte-level BPE, over the JSON of an artefact's tokenizer. The same rules as those of
// zoo/text/json_tokenizers.py; what characters are stands in the file, so that no browser's own Unicode matters.

const UNKNOWN = 1, SPECIAL = [0, 2, 3], END = 3, SHOWN = "\u2047";
const SPACES = [9, 14, 32, 33, 0x85, 0x86, 0xa0, 0xa1, 0x1680, 0x1681, 0x2000, 0x200b, 0x2028, 0x202a, 0x202f, 0x2030, 0x205f, 0x2060, 0x3000, 0x3001];

/** The tokenizer of a file that begins with "{". */
export function readTokenizer(bytes) {
  const settings = JSON.parse(new TextDecoder().decode(bytes)), kind = KINDS[settings.tokenizer];
  if (!kind) throw new Error(`This page knows no tokenizer of the kind ${settings.tokenizer}.`);
  return new kind(settings);
}

class Written {
  constructor(settings) {
    const { pieces, before, after, special } = settings;
    const common = pieces.map(() => -1); // the file does not say how common its pieces are
    Object.assign(this, { settings, pieces, common, before, after, eos: END, unknown: UNKNOWN, special: new Set([...SPECIAL, ...special]) });
  }

  encode(text) {
    return this.words(text).flat();
  }

  /** The ids of a word by itself, as a tagger reads it: at least one. */
  encodeWord(word) {
    const ids = this.encode(word);
    return ids.length ? ids : [UNKNOWN];
  }

  decode(ids) {
    return this.join(ids.filter((id) => !this.special.has(id)));
  }
}

class WordPiece extends Written {
  constructor(settings) {
    super(settings);
    const { pieces, prefix, becomes } = settings;
    this.becomes = new Map(Object.entries(becomes));
    const own = pieces.map((piece, id) => [piece, id]).filter(([, id]) => !this.special.has(id) && id !== UNKNOWN);
    this.first = new Map(own);
    this.most = Math.max(0, ...own.map(([piece]) => piece.length));
    this.inner = new Map(own.filter(([piece]) => piece.startsWith(prefix) && piece !== prefix).map(([piece, id]) => [piece.slice(prefix.length), id]));
  }

  words(text) {
    const { removed, alone } = this.settings;
    let line = "";
    for (const character of text) {
      for (const each of this.becomes.get(character) ?? character) {
        const code = each.codePointAt(0);
        if (!inside(removed, code)) line += inside(alone, code) ? ` ${each} ` : each;
      }
    }
    return line.split(" ").filter(Boolean).map((word) => this.cut(Array.from(word)));
  }

  /** The longest piece from the left, again and again; a word with a part that is in no piece is unknown. */
  cut(letters) {
    if (letters.length > this.settings.longest) return [UNKNOWN];
    const found = [];
    for (let start = 0, known = this.first; start < letters.length; known = this.inner) {
      let stop = Math.min(letters.length, start + this.most), id;
      while (stop > start && (id = known.get(letters.slice(start, stop).join(""))) === undefined) stop -= 1;
      if (stop === start) return [UNKNOWN];
      found.push(id);
      start = stop;
    }
    return found;
  }

  join(ids) {
    return ids.map((id) => (id === UNKNOWN ? SHOWN : this.pieces[id])).join(" ").replaceAll(` ${this.settings.prefix}`, "");
  }
}

class BytePairs extends Written {
  constructor(settings) {
    super(settings);
    const { pieces, merges } = settings, places = new Map(pieces.map((piece, id) => [piece, id]));
    const signs = byteSigns(), bytes = new Map(signs.map((sign, byte) => [sign, byte]));
    this.bytes = signs.map((sign) => places.get(sign));
    [this.ranks, this.results] = [new Map(), []];
    for (let place = 0; place < merges.length; place += 2) {
      const [left, right] = [merges[place], merges[place + 1]];
      this.ranks.set(left * pieces.length + right, this.results.length);
      this.results.push(places.get(pieces[left] + pieces[right]));
    }
    const shown = pieces.map((piece) => Array.from(piece, (sign) => bytes.get(sign)).filter((byte) => byte !== undefined));
    shown[UNKNOWN] = Array.from(new TextEncoder().encode(SHOWN));
    this.shown = shown;
    const [letters, numbers, spaces] = [settings.letters, settings.numbers, SPACES].map(ranges);
    const others = `[^${spaces}${letters}${numbers}]`;
    this.word = new RegExp(`'(?:s|t|re|ve|m|ll|d)| ?[${letters}]+| ?[${numbers}]+| ?${others}+|[${spaces}]+(?![^${spaces}])|[${spaces}]+`, "gu");
  }

  words(text) {
    const whole = this.settings.prefix_space && text && !text.startsWith(" ") ? ` ${text}` : text, known = new Map();
    return (whole.match(this.word) ?? []).map((word) => {
      if (!known.has(word)) known.set(word, this.merge(Array.from(new TextEncoder().encode(word), (byte) => this.bytes[byte])));
      return known.get(word);
    });
  }

  encodeWord(word) {
    return super.encodeWord(` ${word}`);
  }

  /** All pairs that come first in the list are merged, again and again. */
  merge(ids) {
    const rank = (place) => (place + 1 < ids.length ? this.ranks.get(ids[place] * this.pieces.length + ids[place + 1]) : undefined) ?? Infinity;
    for (;;) {
      let best = Infinity;
      for (let place = 0; place < ids.length; place += 1) best = Math.min(best, rank(place));
      if (best === Infinity) return ids;
      const found = [];
      for (let place = 0; place < ids.length; place += 1) {
        if (rank(place) !== best) found.push(ids[place]);
        else {
          found.push(this.results[best]);
          place += 1;
        }
      }
      ids = found;
    }
  }

  join(ids) {
    const bytes = Uint8Array.from(ids.flatMap((id) => this.shown[id]));
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  }
}

const KINDS = { wordpiece: WordPiece, byte_pairs: BytePairs };

/** Whether a code point is in ranges, whose ascending bounds begin them or, exclusive, end them. */
function inside(bounds, code) {
  let low = 0, high = bounds.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (bounds[middle] <= code) low = middle + 1;
    else high = middle;
  }
  return low % 2 === 1;
}

/** The inside of a class of a regular expression that has what is in ranges. */
function ranges(bounds) {
  const sign = (code) => `\\u{${code.toString(16)}}`;
  return bounds.map((bound, place) => (place % 2 ? `-${sign(bound - 1)}` : sign(bound))).join("");
}

/** How a vocabulary writes each of the 256 bytes: itself where it can be seen, else a character from U+0100 on. */
function byteSigns() {
  const seen = (byte) => (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad);
  let next = 0x100;
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(seen(byte) ? byte : next++));
}
