/**
 * Notes of keys that are being shredded, or are not yet complete on every server of the vault. By them a shard finds interrupted
 * shreds without searching the vault. A note is written before the key is destroyed, and removed when no collection is pending and
 * the entry is settled. The progress itself is only in the vault.
 */
import type { Bucket, BucketValue, Watch } from '../bucket/bucket.js';
import type { Clock } from '../clock.js';
import { type Actor, actorOf, type NamedActor, namedActor } from '../model/actor.js';
import { type EntryName, isKeyId } from './entryName.js';

export interface ShredNote extends EntryName {
  /** The originator of the shred; undefined if the service itself made the note. */
  readonly actor: Actor | undefined;
  /** When this process first saw it, by its monotonic clock: the wall clock of the stored time may have changed. */
  readonly seenMs: number;
}

export interface StoredShredNote {
  /** Unix milliseconds, for an operator. */
  readonly since_ms: number;
  /** Absent in notes that the service made by itself, and in those of earlier versions. */
  readonly actor?: NamedActor;
}

/** Replaces the first dot in the project of the master key's note, which no bucket key may have. No project name contains it. */
const DOT = '=';

const noteKey = (project: string, keyId: string): string => `${project.replaceAll('.', DOT)}.${keyId}`;

/** The vault entry that a key of the bucket names; undefined for other keys. */
export function notedBy(key: string): EntryName | undefined {
  const dot = key.lastIndexOf('.');
  const keyId = key.slice(dot + 1);
  return dot > 0 && isKeyId(keyId) ? { project: key.slice(0, dot).replaceAll(DOT, '.'), keyId } : undefined;
}

export class ShredNotes {
  constructor(
    private readonly bucket: Bucket,
    private readonly clock: Clock,
  ) {}

  /** Without `by`, an earlier note keeps its actor. */
  async set(project: string, keyId: string, by?: Actor): Promise<void> {
    const key = noteKey(project, keyId);
    const actor = by === undefined ? storedActor((await this.bucket.get(key))?.value) : namedActor(by);
    await this.bucket.put(key, { since_ms: this.clock.nowMs(), ...(actor !== undefined && { actor }) });
  }

  async clear(project: string, keyId: string): Promise<void> {
    await this.bucket.delete(noteKey(project, keyId));
  }

  /** Keeps `notes` up to date, once this has resolved. */
  watch(notes: Map<string, ShredNote>): Promise<Watch> {
    return this.bucket.watch(({ key, entry }) => {
      const name = notedBy(key);
      if (name === undefined || entry === undefined) notes.delete(key);
      else notes.set(key, { ...name, actor: noted(entry.value), seenMs: this.clock.monotonicMs() });
    });
  }
}

const storedActor = (value: BucketValue | undefined): NamedActor | undefined =>
  (value as StoredShredNote | undefined)?.actor;

function noted(value: BucketValue): Actor | undefined {
  const actor = storedActor(value);
  return actor === undefined ? undefined : actorOf(actor);
}
