// Protocol buffers as numbered fields: enough to read a tokenizer's pieces, and to add outputs to an ONNX graph.

const decoder = new TextDecoder();

/** `{number, kind, value, start, end}` of each field of a message; the value is a number or bytes, null of 8 bytes. */
export function* fields(bytes) {
  let at = 0;
  const varint = () => {
    let value = 0, scale = 1;
    for (;;) {
      if (at >= bytes.length || scale > 2 ** 70) throw new Error("a number of a protocol buffer has no end");
      const byte = bytes[at++];
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 128;
    }
  };
  while (at < bytes.length) {
    const start = at, key = varint(), kind = key & 7;
    let value = null;
    if (kind === 0) value = varint();
    else if (kind === 2) {
      const size = varint();
      value = bytes.subarray(at, (at += size));
    } else if (kind === 1) at += 8;
    else if (kind === 5) value = bytes.subarray(at, (at += 4));
    else throw new Error(`a protocol buffer has no wire type ${kind}`);
    if (at > bytes.length) throw new Error("a field of a protocol buffer is longer than its message");
    yield { number: Math.floor(key / 8), kind, value, start, end: at };
  }
}

/** The values of the fields of one number, and the first of them. */
export const many = (bytes, number) => Array.from(fields(bytes)).filter((each) => each.number === number).map((each) => each.value);

export function one(bytes, number) {
  for (const each of fields(bytes)) if (each.number === number) return each.value;
  return undefined;
}

/** A message in which `change(value)` stands for the values of the fields of one number; null leaves a field out. */
export function edit(bytes, number, change) {
  const parts = Array.from(fields(bytes), (each) => {
    const value = each.number === number ? change(each.value) : each.value;
    if (value === null && each.value !== null) return new Uint8Array();
    return value === each.value ? bytes.subarray(each.start, each.end) : field(each.number, value);
  });
  return concat(parts);
}

export const text = (bytes) => decoder.decode(bytes);

/** A field that holds bytes. */
export function field(number, content) {
  const data = typeof content === "string" ? new TextEncoder().encode(content) : content;
  return concat([encodeVarint(number * 8 + 2), encodeVarint(data.length), data]);
}

/** A field that holds a whole number. */
export const integerField = (number, value) => concat([encodeVarint(number * 8), encodeVarint(value)]);

export function concat(parts) {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

function encodeVarint(value) {
  const digits = [];
  for (; value >= 0x80; value = Math.floor(value / 128)) digits.push((value % 128) | 0x80);
  return Uint8Array.of(...digits, value);
}
