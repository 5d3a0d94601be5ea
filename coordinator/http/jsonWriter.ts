/** Writes a long answer of JSON. It is encoded while it is written: 32 MiB at once would block the event loop for 0.1 s. */
import type { Steps } from '../../shared/scheduling/slice.js';
import { jsonText, type Reply, WHOLE_CHARS_MAX } from './reply.js';

/** Characters of a list written in one step: about a tenth of a millisecond. */
const STEP_CHARS = 32 * 1024;
/** Longest list that is written in one step with what holds it. */
const SHORT_LIST = 16;
const FIRST_ITEMS = 16;
const ITEMS_PER_STEP_MAX = 256;

export class JsonWriter {
  #text = '';
  readonly #pieces: Buffer[] = [];

  /** `text`: whole characters. */
  write(text: string): void {
    this.#text += text;
    if (this.#text.length >= WHOLE_CHARS_MAX) this.#encode();
  }

  /** Writes a value as `JSON.stringify` does, in steps. It must have members of plain data alone. */
  *writeValue(value: object): Steps<void> {
    if (!isLong(value)) return this.write(JSON.stringify(value));
    if (Array.isArray(value)) return yield* this.#writeList(value);
    let start = '{';
    for (const [name, member] of Object.entries(value)) {
      if (member === undefined) continue;
      this.write(`${start}${JSON.stringify(name)}:`);
      start = ',';
      if (typeof member === 'object' && member !== null) yield* this.writeValue(member);
      else this.write(JSON.stringify(member));
    }
    this.write('}');
  }

  *#writeList(items: readonly unknown[]): Steps<void> {
    let most = FIRST_ITEMS;
    let start = '[';
    for (let from = 0, to = 0; from < items.length; from = to) {
      if (from > 0) yield;
      this.write(start);
      start = ',';
      const first = items[from];
      to = from + 1;
      if (isLong(first)) {
        yield* this.writeValue(first);
        continue;
      }
      while (to < items.length && to - from < most && !isLong(items[to])) to++;
      const json = JSON.stringify(items.slice(from, to)).slice(1, -1);
      this.write(json);
      most = Math.min(Math.max(Math.floor(((to - from) * STEP_CHARS) / json.length), 1), ITEMS_PER_STEP_MAX);
    }
    this.write(']');
  }

  /** Makes the answer, in steps; may be called once. A short answer is a string. */
  *reply(): Steps<Reply> {
    if (this.#pieces.length === 0) return jsonText(this.#text);
    this.#encode();
    return jsonText(yield* joined(this.#pieces));
  }

  #encode(): void {
    this.#pieces.push(Buffer.from(this.#text, 'utf8'));
    this.#text = '';
  }
}

/** Makes the answer `json` of an object with long lists, in steps. */
export function* jsonInSteps(value: object): Steps<Reply> {
  const writer = new JsonWriter();
  yield* writer.writeValue(value);
  return yield* writer.reply();
}

/** Whether a value is or holds a list that takes several steps. */
function isLong(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.length > SHORT_LIST || value.some(isLong);
  for (const name in value) if (isLong((value as Readonly<Record<string, unknown>>)[name])) return true;
  return false;
}

/** Joins pieces in steps: writing to new memory takes a millisecond for each mebibyte. */
export function* joined(pieces: readonly Uint8Array[]): Steps<Buffer> {
  const whole = Buffer.allocUnsafeSlow(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
    yield;
  }
  return whole;
}
