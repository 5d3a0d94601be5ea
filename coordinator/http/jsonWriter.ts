/** Writes a long answer of JSON. It is encoded while it is written: 32 MiB at once would block the event loop for 0.1 s. */
import type { Steps } from '../../shared/scheduling/slice.js';
import { jsonText, type Reply, WHOLE_CHARS_MAX } from './reply.js';

/** Items of a list written in one step: about a tenth of a millisecond. */
const ITEMS_PER_STEP = 256;

export class JsonWriter {
  #text = '';
  readonly #pieces: Buffer[] = [];

  /** `text`: whole characters. */
  write(text: string): void {
    this.#text += text;
    if (this.#text.length >= WHOLE_CHARS_MAX) this.#encode();
  }

  /** Writes a list in steps. */
  *writeList(items: readonly unknown[]): Steps<void> {
    this.write('[');
    for (let from = 0; from < items.length; from += ITEMS_PER_STEP) {
      if (from > 0) yield;
      const json = JSON.stringify(items.slice(from, from + ITEMS_PER_STEP)).slice(1, -1);
      this.write(from === 0 ? json : `,${json}`);
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
export function* jsonInSteps<T extends object>(value: T): Steps<Reply> {
  const writer = new JsonWriter();
  let start = '{';
  for (const [name, member] of Object.entries(value)) {
    writer.write(`${start}"${name}":`);
    start = ',';
    if (Array.isArray(member)) yield* writer.writeList(member);
    else writer.write(JSON.stringify(member));
  }
  writer.write('}');
  return yield* writer.reply();
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
