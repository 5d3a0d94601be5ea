/**
 * Which keys are being shredded, or lack something on one of the servers that hold the vault, so that a shard need not search
 * the vault for what was cut short. A mark is set before the key is destroyed and taken away when nothing is pending and the
 * entry is settled; in between, the vault alone says how far it is.
 */
import type { Bucket, Watch } from '../bucket/bucket.js';
import type { Clock } from '../clock.js';
import { isKeyId } from './entryName.js';
import type { EntryName } from './seal.js';

export interface ShredMark {
  readonly project: string;
  /** 32 lowercase hex. */
  readonly keyId: string;
  /** Unix milliseconds. */
  readonly sinceMs: number;
}

export interface StoredShredMark {
  readonly since_ms: number;
}

/** The master mark's project begins with a dot, and no key of a bucket does; no name of a project holds this. */
const DOT = '=';

const markKey = (project: string, keyId: string): string => `${project.replaceAll('.', DOT)}.${keyId}`;

/** What a key of the bucket says; undefined where it says nothing of a vault entry. */
export function markedBy(key: string): EntryName | undefined {
  const dot = key.lastIndexOf('.');
  const keyId = key.slice(dot + 1);
  return dot > 0 && isKeyId(keyId) ? { project: key.slice(0, dot).replaceAll(DOT, '.'), keyId } : undefined;
}

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
      const name = markedBy(key);
      if (name === undefined || entry === undefined) marks.delete(key);
      else marks.set(key, { ...name, sinceMs: (entry.value as unknown as StoredShredMark).since_ms });
    });
  }
}
