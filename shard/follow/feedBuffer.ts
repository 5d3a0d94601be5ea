import type { StoredFrame } from '../../shared/log/eventLog.js';

const BYTES_MAX = 32 << 20;

/** Frames that were told and are not applied yet. What is too much is forgotten: it stands in the log. */
export class FeedBuffer {
  #frames: StoredFrame[] = [];
  #sizeBytes = 0;

  get isEmpty(): boolean {
    return this.#frames.length === 0;
  }

  add(frame: StoredFrame): void {
    this.#frames.push(frame);
    this.#sizeBytes += frame.bytes.length;
    if (this.#sizeBytes > BYTES_MAX) this.clear();
  }

  shift(): StoredFrame | undefined {
    const frame = this.#frames.shift();
    this.#sizeBytes -= frame?.bytes.length ?? 0;
    return frame;
  }

  clear(): void {
    this.#frames = [];
    this.#sizeBytes = 0;
  }
}
