/** A hash over everything that happens in a world, and its last events in words. */

const KEPT_LINES = 400;

/** Receives a line per event; for a replay. */
export type TraceListener = (step: number, timeMs: number, who: string, what: string) => void;

export class Trace {
  /** Number of noted events. */
  events = 0;
  listener: TraceListener | undefined;
  #low = 0x9e3779b9 | 0;
  #high = 0x7f4a7c15 | 0;
  readonly #numbers = new Float64Array(1);
  readonly #words = new Uint32Array(this.#numbers.buffer);
  readonly #lines: string[] = [];
  readonly #kinds = new Map<string, number>();

  /** Sixteen hex digits, equal for two worlds exactly if the same has happened in both. */
  get hash(): string {
    return (
      (this.#high >>> 0) * 0x1_0000_0000 + (this.#low >>> 0) === 0 ? '0' : hex(this.#high) + hex(this.#low)
    ).padStart(16, '0');
  }

  /** Last events, oldest first. */
  get lines(): readonly string[] {
    return this.#lines;
  }

  /** Adds a step of the scheduler. */
  step(timeMs: number, party: number, kind: string): void {
    this.events++;
    this.#numbers[0] = timeMs;
    this.#mix(this.#words[0]!);
    this.#mix(this.#words[1]!);
    this.#mix(party * 64 + this.#kindOf(kind));
  }

  /** Adds an event with a line: a log line, an answer, a fault. */
  note(timeMs: number, who: string, what: string): void {
    this.events++;
    this.text(who);
    this.text(what);
    if (this.#lines.length >= KEPT_LINES) this.#lines.splice(0, KEPT_LINES / 4);
    this.#lines.push(`${this.events} ${timeMs.toFixed(3)} ${who}: ${what}`);
    this.listener?.(this.events, timeMs, who, what);
  }

  /** Changes only the hash. */
  number(value: number): void {
    this.#mix(value | 0);
  }

  /** Changes only the hash. */
  text(text: string): void {
    this.#mix(text.length);
    for (let i = 0; i < text.length; i++) this.#mix(text.charCodeAt(i));
  }

  #kindOf(kind: string): number {
    let number = this.#kinds.get(kind);
    if (number === undefined) {
      number = this.#kinds.size;
      this.#kinds.set(kind, number);
    }
    return number;
  }

  #mix(value: number): void {
    let low = Math.imul(this.#low ^ value, 0x85ebca6b);
    low ^= low >>> 15;
    let high = Math.imul((this.#high + value) | 0, 0xc2b2ae35);
    high ^= (high >>> 13) ^ low;
    this.#low = low;
    this.#high = high;
  }
}

const hex = (word: number): string => (word >>> 0).toString(16).padStart(8, '0');
