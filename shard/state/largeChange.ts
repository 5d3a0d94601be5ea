/**
 * The index work of one event with a large record, in steps around the event.
 *
 * ```text
 *   prepare new record ──▶ the event: show the new record, hide the old one ──▶ clear old record, release its slot
 * ```
 *
 * Searches see the event happen in one turn.
 */
import { unreachable } from '../../shared/errors/errors.js';
import type { Event } from '../../shared/log/event.js';
import type { Steps } from '../../shared/scheduling/slice.js';
import type { MetadataIndex } from '../metadata/metadataIndex.js';
import type { TextIndex } from '../text/textIndex.js';
import type { RecordFields } from './keptFields.js';

export class LargeChange {
  readonly #hidden: number[] = [];
  readonly #released: number[] = [];

  /** `slot`: the written row of the new record; undefined without one. */
  constructor(
    private readonly metadata: MetadataIndex,
    private readonly texts: TextIndex,
    readonly slot?: number,
  ) {}

  /** Indexes the new record, which no search finds yet. */
  *prepare({ metadata, text }: Pick<RecordFields, 'metadata' | 'text'>): Steps<void> {
    if (metadata !== null) yield* this.metadata.prepare(this.slot!, metadata);
    if (text !== null) yield* this.texts.prepare(this.slot!, text);
  }

  show({ metadata, text }: Pick<RecordFields, 'metadata' | 'text'>): void {
    if (metadata !== null || text !== null) this.metadata.show(this.slot!, metadata);
    if (text !== null) this.texts.show(this.slot!);
  }

  hide(slot: number): void {
    this.metadata.hide(slot);
    this.texts.hide(slot);
    this.#hidden.push(slot);
  }

  /** Calls `release` in `clear`, when the indexes have nothing of the slot any more. */
  releaseLater(slot: number): void {
    this.#released.push(slot);
  }

  *clear(release: (slot: number) => void): Steps<void> {
    for (const slot of this.#hidden) {
      yield* this.metadata.clear(slot);
      yield* this.texts.clear(slot);
    }
    for (const slot of this.#released) release(slot);
  }
}

/** Bytes of the metadata and texts that an event adds or removes. `keptBytesOf`: those of a record before the event. */
export function indexedBytesOf(event: Event, keptBytesOf: (recordId: number) => number): number {
  switch (event.type) {
    case 'insertUnderKey':
    case 'replaceUnderKey':
    case 'updateUnderKey':
      return sizeOf(event.content?.metadata) + sizeOf(event.content?.text) + keptBytesOf(event.recordId);
    case 'insert':
      return sizeOf(event.metadata) + sizeOf(event.text);
    case 'replace':
      return sizeOf(event.metadata) + sizeOf(event.text) + keptBytesOf(event.recordId);
    case 'updateMetadata':
      return sizeOf(event.metadata) + keptBytesOf(event.recordId);
    case 'softDelete':
    case 'delete':
      return keptBytesOf(event.recordId);
    case 'genesis':
    case 'insertEncrypted':
    case 'shredKey':
    case 'addNode':
    case 'deleteNode':
    case 'addEdge':
    case 'deleteEdge':
    case 'deleteMany':
    case 'auditReads':
      return 0;
    default:
      return unreachable(event);
  }
}

const sizeOf = (bytes: Uint8Array | null | undefined): number => bytes?.length ?? 0;
