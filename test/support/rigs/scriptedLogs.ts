/**
 * Event logs in memory with scripted failures: refused, of unknown outcome, slow, or landing after their writer has
 * given up. Reads are honest.
 */
import { unavailable } from '../../../shared/errors/errors.js';
import {
  type EventLog,
  type EventLogs,
  Fenced,
  LogDamaged,
  type Position,
  type StoredFrame,
} from '../../../shared/log/eventLog.js';

/** Fate of one append. */
export type Fate =
  /** It is durable and answered. */
  | 'stored'
  /** Unknown outcome; the frame is stored. */
  | 'landed'
  /** Unknown outcome; the frame is never stored. */
  | 'lost'
  /** Unknown outcome; the next `landLate` stores the frame, unless another has taken its place. */
  | 'late'
  | 'fenced'
  /** Waits for the promise, then is stored. */
  | Promise<unknown>;

interface Written {
  readonly frame: Uint8Array;
  readonly after: Position;
}

export class ScriptedLogs implements EventLogs {
  lateMs = 0;
  /** Fates of the next appends, in order; later appends are stored. */
  readonly fates: Fate[] = [];
  readonly #frames = new Map<number, StoredFrame[]>();
  readonly #late: { readonly collectionId: number; readonly written: Written }[] = [];
  /** The next read throws this. */
  failRead: Error | undefined;
  appends = 0;

  frames(collectionId: number): readonly Uint8Array[] {
    return this.#stored(collectionId).map(({ bytes }) => bytes);
  }

  /** Replaces the bytes of the frame at `index`. */
  tamper(collectionId: number, index: number, bytes: Uint8Array): void {
    const frame = this.#stored(collectionId)[index] as StoredFrame;
    this.#stored(collectionId)[index] = { ...frame, bytes };
  }

  /** Loses all frames after the first `left`. */
  lose(collectionId: number, left: number): void {
    this.#stored(collectionId).length = left;
  }

  /** Appends like another owner of the collection. */
  writeAs(collectionId: number, frame: Uint8Array): void {
    this.#store(collectionId, { frame, after: this.#headOf(collectionId) });
  }

  /** Delivers frames that are still on the network. Returns whether one found its place. */
  landLate(): boolean {
    const results = this.#late.splice(0).map(({ collectionId, written }) => this.#store(collectionId, written));
    return results.some((position) => position !== undefined);
  }

  async open(collectionId: number): Promise<EventLog> {
    return {
      maxFrameBytes: 1 << 20,
      staleMs: 0,
      added: 0,
      barrier: async () => undefined,
      append: (frame, after) => this.#append(collectionId, { frame: frame.slice(), after }),
      read: (after) => this.#read(collectionId, after),
      readAt: async (position) => {
        const frame = this.#stored(collectionId).find((one) => one.position === position);
        if (frame === undefined) throw new LogDamaged(collectionId, `it has no frame at ${position}`);
        return frame.bytes;
      },
      head: async () => this.#stored(collectionId).at(-1),
      endSegment: async () => undefined,
      trim: async (position) => {
        const frames = this.#stored(collectionId);
        this.#frames.set(
          collectionId,
          frames.filter((frame) => frame.position >= position),
        );
      },
      close: async () => undefined,
    };
  }

  async remove(collectionId: number): Promise<void> {
    this.#frames.delete(collectionId);
  }

  async #append(collectionId: number, written: Written): Promise<Position> {
    this.appends++;
    const fate = this.fates.shift() ?? 'stored';
    if (fate === 'fenced') throw new Fenced(collectionId);
    if (fate === 'late') this.#late.push({ collectionId, written });
    if (fate === 'late' || fate === 'lost') throw unavailable('the outcome is unknown');
    if (fate instanceof Promise) await fate;
    const position = this.#store(collectionId, written);
    if (position === undefined) throw new Fenced(collectionId);
    if (fate === 'landed') throw unavailable('the outcome is unknown');
    return position;
  }

  async *#read(collectionId: number, after: Position): AsyncGenerator<StoredFrame> {
    const error = this.failRead;
    this.failRead = undefined;
    if (error !== undefined) throw error;
    yield* this.#stored(collectionId).filter(({ position }) => position > after);
  }

  /** Undefined if the frame's place is taken. */
  #store(collectionId: number, { frame, after }: Written): Position | undefined {
    if (after !== this.#headOf(collectionId)) return undefined;
    const position = after + 1;
    this.#stored(collectionId).push({ position, bytes: frame });
    return position;
  }

  #headOf(collectionId: number): Position {
    return this.#stored(collectionId).at(-1)?.position ?? 0;
  }

  #stored(collectionId: number): StoredFrame[] {
    let frames = this.#frames.get(collectionId);
    if (frames === undefined) {
      frames = [];
      this.#frames.set(collectionId, frames);
    }
    return frames;
  }
}
