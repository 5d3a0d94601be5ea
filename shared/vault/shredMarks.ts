/**
 * Which keys are being shredded, or lack something on one of the servers that hold the vault, so that a shard need not search
 * the vault for what was cut short. A mark is set before the key is destroyed and taken away when nothing is pending and the
 * entry is settled; in between, the vault alone says how far it is.
 */
import type { Bucket, Watch } from '../bucket/bucket.js';
import type { Clock } from '../clock.js';

export interface ShredMark {
  readonly project: string;
  /** 32 lowercase hex. */
  readonly keyId: string;
  /** Unix milliseconds. */
  readonly sinceMs: number;
}

interface Stored {
  readonly since_ms: number;
}

const markKey = (project: string, keyId: string): string => `${project}.${keyId}`;

export class ShredMarks {
  /** `bucket`: BUCKETS.shreds. */
  constructor(
    private readonly bucket: Bucket,
    private readonly clock: Clock,
  ) {}

  async set(project: string, keyId: string): Promise<void> {
    await this.bucket.put(markKey(project, keyId), { since_ms: this.clock.nowMs() });
  }

  async clear(project: string, keyId: string): Promise<void> {
    await this.bucket.delete(markKey(project, keyId));
  }

  /** `marks` holds what is marked when this resolves, and from then on. */
  watch(marks: Map<string, ShredMark>): Promise<Watch> {
    return this.bucket.watch(({ key, entry }) => {
      if (entry === undefined) marks.delete(key);
      else {
        const { since_ms: sinceMs } = entry.value as unknown as Stored;
        const dot = key.lastIndexOf('.');
        marks.set(key, { project: key.slice(0, dot), keyId: key.slice(dot + 1), sinceMs });
      }
    });
  }
}
