/** Writes a long answer of JSON. It is encoded while it is written: 32 MiB at once would block the event loop for 0.1 s. */
import { jsonText, type Reply, WHOLE_CHARS_MAX } from './reply.js';

export class JsonWriter {
  #text = '';
  readonly #pieces: Buffer[] = [];

  /** `text`: whole characters. */
  write(text: string): void {
    this.#text += text;
    if (this.#text.length >= WHOLE_CHARS_MAX) this.#encode();
  }

  /** The answer; may be called once. A short answer is a string. */
  reply(): Reply {
    if (this.#pieces.length === 0) return jsonText(this.#text);
    this.#encode();
    return jsonText(Buffer.concat(this.#pieces));
  }

  #encode(): void {
    this.#pieces.push(Buffer.from(this.#text, 'utf8'));
    this.#text = '';
  }
}
