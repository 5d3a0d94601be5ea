/** State that one server has applied of a stream: its messages, and their limits. */
import { matches } from './interest.js';

export interface StoredMessage {
  readonly seq: number;
  readonly subject: string;
  readonly headers: Buffer;
  readonly body: Buffer;
  readonly timeMs: number;
}

export interface StreamSettings {
  readonly name: string;
  readonly subjects: readonly string[];
  readonly num_replicas: number;
  /** Nanoseconds; 0: unlimited. */
  readonly max_age: number;
  /** -1: unlimited. */
  readonly max_msgs_per_subject: number;
  readonly [setting: string]: unknown;
}

/** A change of a stream, in the order on which its servers agree. */
export type StreamOp =
  | {
      readonly op: 'publish';
      readonly subject: string;
      readonly headers: Buffer;
      readonly body: Buffer;
      readonly timeMs: number;
      /** Expected last message of a subject, compared when the message is applied; undefined: not compared then. */
      readonly expected: { readonly subject: string; readonly sequence: number } | undefined;
      /** Process that published it. */
      readonly by: string;
    }
  | { readonly op: 'delete'; readonly seq: number }
  /** Removes the messages before `seq`; undefined: all. */
  | { readonly op: 'purge'; readonly filter: string | undefined; readonly seq: number | undefined }
  | { readonly op: 'update'; readonly settings: StreamSettings };

export type PublishOp = Extract<StreamOp, { readonly op: 'publish' }>;

/** Result of an operation. */
export type Applied =
  | { readonly kind: 'stored'; readonly seq: number }
  | { readonly kind: 'wrong sequence'; readonly last: number }
  | { readonly kind: 'done'; readonly count: number };

const NANOS_PER_MS = 1e6;

export class StreamState {
  readonly #messages = new Map<number, StoredMessage>();
  /** Sequences, ascending. */
  readonly #bySubject = new Map<string, number[]>();
  lastSeq = 0;
  bytes = 0;

  constructor(public settings: StreamSettings) {}

  get count(): number {
    return this.#messages.size;
  }

  get firstSeq(): number {
    return this.#messages.keys().next().value ?? this.lastSeq + 1;
  }

  get subjects(): ReadonlyMap<string, readonly number[]> {
    return this.#bySubject;
  }

  get(seq: number): StoredMessage | undefined {
    return this.#messages.get(seq);
  }

  last(subject: string): StoredMessage | undefined {
    const seq = this.lastOf(subject);
    return seq === 0 ? undefined : this.#messages.get(seq);
  }

  /** 0 without a message. */
  lastOf(subject: string): number {
    return this.#bySubject.get(subject)?.at(-1) ?? 0;
  }

  /** The first message from `seq` on whose subject matches the filter. */
  next(seq: number, filter: string): StoredMessage | undefined {
    let least = Number.POSITIVE_INFINITY;
    for (const [, seqs] of this.#matching(filter)) {
      const found = seqs.find((each) => each >= seq);
      if (found !== undefined && found < least) least = found;
    }
    return this.#messages.get(least);
  }

  /** Sequences of the messages from `seq` on that match the filter, ascending. */
  from(seq: number, filter: string): number[] {
    return [...this.#matching(filter)].flatMap(([, seqs]) => seqs.filter((each) => each >= seq)).sort((a, b) => a - b);
  }

  /** Sequences of the newest message of every matching subject, ascending. */
  newest(filter: string): number[] {
    return [...this.#matching(filter)].map(([, seqs]) => seqs.at(-1)!).sort((a, b) => a - b);
  }

  /** Removes messages that are older than the stream allows. */
  expire(nowMs: number): void {
    const keptMs = this.settings.max_age / NANOS_PER_MS;
    if (keptMs <= 0) return;
    for (const message of this.#messages.values()) {
      if (message.timeMs + keptMs > nowMs) return;
      this.#remove(message);
    }
  }

  apply(op: StreamOp): Applied {
    switch (op.op) {
      case 'publish':
        return this.#publish(op);
      case 'delete': {
        const message = this.#messages.get(op.seq);
        if (message !== undefined) this.#remove(message);
        return { kind: 'done', count: message === undefined ? 0 : 1 };
      }
      case 'purge': {
        const { filter = '>', seq: end = Number.POSITIVE_INFINITY } = op;
        const gone = this.from(0, filter).filter((seq) => seq < end);
        for (const seq of gone) this.#remove(this.#messages.get(seq)!);
        return { kind: 'done', count: gone.length };
      }
      case 'update':
        this.settings = op.settings;
        return { kind: 'done', count: 0 };
    }
  }

  #publish({ subject, headers, body, timeMs, expected }: PublishOp): Applied {
    const last = expected && this.lastOf(expected.subject);
    if (last !== expected?.sequence) return { kind: 'wrong sequence', last: last! };
    const seq = ++this.lastSeq;
    const message = { seq, subject, headers, body, timeMs };
    this.#messages.set(seq, message);
    this.bytes += sizeOf(message);
    const seqs = this.#bySubject.get(subject);
    if (seqs === undefined) this.#bySubject.set(subject, [seq]);
    else {
      seqs.push(seq);
      const { max_msgs_per_subject: most } = this.settings;
      while (most > 0 && seqs.length > most) this.#remove(this.#messages.get(seqs[0]!)!);
    }
    return { kind: 'stored', seq };
  }

  #remove(message: StoredMessage): void {
    const { seq, subject } = message;
    this.#messages.delete(seq);
    this.bytes -= sizeOf(message);
    const seqs = this.#bySubject.get(subject)!;
    seqs.splice(seqs.indexOf(seq), 1);
    if (seqs.length === 0) this.#bySubject.delete(subject);
  }

  *#matching(filter: string): Generator<readonly [string, number[]]> {
    const own = this.#bySubject.get(filter);
    if (own !== undefined) yield [filter, own];
    else if (/[*>]/.test(filter)) for (const entry of this.#bySubject) if (matches(filter, entry[0])) yield entry;
  }
}

const sizeOf = ({ subject, headers, body }: StoredMessage): number =>
  subject.length + headers.length + body.length + 22;
