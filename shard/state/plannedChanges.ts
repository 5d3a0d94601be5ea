/**
 * The last event of each record in a commit in progress. Few writes ask for it, so it is looked up in the events on demand: the
 * others pay nothing.
 */

import { counted } from '../../shared/errors/counted.js';
import { refusal, VouchError } from '../../shared/errors/errors.js';
import { type AuditReads, type Event, isUnderKey } from '../../shared/log/event.js';
import { type AccessChange, READ_AUDITS } from '../../shared/model/readAudit.js';
import type { CollectionState } from './collectionState.js';

/** An event that writes a record. */
type WritingEvent = Exclude<Extract<Event, { recordId: number | null }>, { type: 'addNode' }>;

/** New metadata of a record, with the bytes that its event adds, and those that it replaces. */
export interface MetadataChange {
  readonly recordId: number;
  readonly metadata: Uint8Array;
  readonly added: number;
  readonly replaced: number;
  /** Bytes of its event in a frame. */
  readonly eventBytes: number;
}

/** Bytes by which a change lets the metadata grow. */
export const growthOf = ({ added, replaced }: MetadataChange): number => Math.max(added - replaced, 0);

export class PlannedChanges {
  readonly #last = new Map<number, WritingEvent>();
  #noted = 0;

  constructor(
    private readonly events: readonly Event[],
    private readonly state: CollectionState,
    private readonly firstSequence: number,
  ) {}

  /**
   * Throws `conflict` if an undeleted record has changed since event `since`, and `validation_error` if the log has no such event
   * yet. Without `since` nothing is checked.
   */
  assertUnchanged(recordId: number, since: number | undefined): void {
    if (since === undefined) return;
    this.assertLogged(since);
    const changed = this.last(recordId)?.sequence ?? this.state.changedBy(recordId);
    if (changed > since) throw refusal('conflict', 'changed', { record: recordId, changed, since });
  }

  /**
   * Checks the record under an external id before an upsert; undefined: no live record has the id. Since event 0 there must be none;
   * since a later one there was one, which must still be there.
   */
  assertHolder(recordId: number | undefined, externalId: Uint8Array, since: number | undefined): void {
    if (recordId !== undefined) this.assertUnchanged(recordId, since);
    else if (since !== undefined && since > 0) {
      this.assertLogged(since);
      throw refusal('conflict', 'gone', { external: JSON.stringify(Buffer.from(externalId).toString()), since });
    }
  }

  /** Throws `validation_error` if the log has no event `since` yet. */
  assertLogged(since: number): void {
    const sequence = this.firstSequence + this.events.length - 1;
    if (since > sequence)
      throw new VouchError(
        'validation_error',
        `if_log_index is ${since}, and the collection has ${counted(sequence, 'event')}`,
      );
  }

  /** Returns the metadata that the commit gives the record; undefined if it gives none. */
  metadata(recordId: number): Uint8Array | null | undefined {
    const last = this.last(recordId);
    if (last === undefined) return undefined;
    return 'metadata' in last ? last.metadata : isUnderKey(last) ? last.content?.metadata : undefined;
  }

  /** Returns the fields of the event that changes the access log; undefined if it would change nothing. */
  access({ audit, retentionDays }: AccessChange): Pick<AuditReads, 'kind' | 'retentionDays'> | undefined {
    const { readAudit, accessRetentionDays } = this.state;
    const before = this.events.findLast((event) => event.type === 'auditReads') ?? {
      kind: READ_AUDITS.indexOf(readAudit),
      retentionDays: accessRetentionDays,
    };
    const kind = audit === undefined ? before.kind : READ_AUDITS.indexOf(audit);
    const after = { kind, retentionDays: retentionDays ?? before.retentionDays };
    return after.kind === before.kind && after.retentionDays === before.retentionDays ? undefined : after;
  }

  /** Returns undefined if the commit does not write the record. */
  last(recordId: number): WritingEvent | undefined {
    for (; this.#noted < this.events.length; this.#noted++) {
      const event = this.events[this.#noted]!;
      if ('recordId' in event && event.type !== 'addNode') this.#last.set(event.recordId, event);
    }
    return this.#last.get(recordId);
  }
}
