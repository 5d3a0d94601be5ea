/**
 * Writes whose event carries a unique mark: rows, changes of metadata, secrets. One thing may be sent several times.
 */

import type { BatchCall, InsertCall, MergeCall, MergeManyCall, Row, UpdateCall } from '../history/records.js';
import type { InsertSecretCall, Secret } from '../history/secrets.js';
import type { WriteCall } from '../history.js';
import type { Candidates, Violate } from './candidates.js';
import type { CollectionLog, LoggedEvent } from './log.js';
import { describeEvent, entryAt } from './log.js';
import { storedIn } from './stored.js';

export type MarkedCall = InsertCall | BatchCall | UpdateCall | MergeCall | MergeManyCall | InsertSecretCall;

/** All calls that sent one thing, and the test whether an event is that thing. */
interface Sent {
  readonly attempts: MarkedCall[];
  readonly isIn: (event: LoggedEvent) => boolean;
}

const isInsert = (call: WriteCall): call is InsertCall => call.op === 'insert';
const marksOf = ({ rows }: BatchCall): string => rows.map(({ metadata }) => metadata.mark).join(' ');

export class MarkedWrites {
  readonly #sent = new Map<number, Sent>();
  readonly #batches: BatchCall[] = [];
  readonly #sequenceOf = new Map<number, number>();

  constructor(
    private readonly log: CollectionLog,
    private readonly violate: Violate,
  ) {}

  add(call: MarkedCall): void {
    switch (call.op) {
      case 'insert':
        this.#add(call.row.metadata.mark, call, (event) => this.#isRow(event, call.row));
        return;
      case 'insertBatch':
        for (const row of call.rows) this.#add(row.metadata.mark, call, (event) => this.#isRow(event, row));
        this.#batches.push(call);
        return;
      case 'updateMetadata':
        this.#add(call.metadata.mark, call, (event) => isUpdate(event, call));
        return;
      case 'mergeMetadata':
        this.#add(call.merge.mark, call, (event) => isChangeOf(event, call.id));
        return;
      case 'mergeMany':
        this.#add(call.merge.mark, call, (event) => event.type === 'updateMetadata');
        return;
      case 'insertEncrypted':
        this.#add(call.secret.mark, call, (event) => isSecret(event, call.secret));
    }
  }

  /** Calls that may have caused the event with this mark. */
  match(mark: number, event: LoggedEvent, sequence: number): Candidates {
    const { attempts = [], isIn } = this.#sent.get(mark) ?? {};
    const earlier = this.#sequenceOf.get(mark);
    // One change of many records has an event for each.
    if (earlier !== undefined && attempts.every(({ op }) => op !== 'mergeMany')) {
      this.violate('doubled write', `event ${sequence} repeats event ${earlier}`, ...attempts);
      return undefined;
    }
    this.#sequenceOf.set(mark, sequence);
    if (isIn?.(event) === false)
      this.violate('altered write', `event ${sequence} is ${describeEvent(event)}`, ...attempts);
    return attempts;
  }

  /** Call it once every event is matched. */
  check(): void {
    for (const { attempts } of this.#sent.values()) this.#checkMadeOnce(attempts);
    for (const batch of this.#batches) this.#checkWhole(batch);
  }

  checkAnswered(call: MarkedCall): void {
    if (call.outcome.kind !== 'ok') return;
    switch (call.op) {
      case 'insert': {
        const { id, receipt } = call.outcome.answer;
        this.#checkRecord(call, call.row.metadata.mark, id);
        this.#checkSequence(call, call.row.metadata.mark, receipt.sequence);
        return;
      }
      case 'insertBatch': {
        const { ids } = call.outcome.answer;
        for (const [i, { metadata }] of call.rows.entries()) this.#checkRecord(call, metadata.mark, ids[i]);
        return;
      }
      case 'insertEncrypted': {
        const { id, keyId } = call.outcome.answer;
        const event = this.#checkRecord(call, call.secret.mark, id);
        if (event !== undefined && !('keyId' in event && event.keyId === keyId))
          this.violate('wrong answer', `the answer names key ${keyId}; the log has ${describeEvent(event)}`, call);
        return;
      }
      case 'updateMetadata':
      case 'mergeMetadata': {
        const { mark } = call.op === 'updateMetadata' ? call.metadata : call.merge;
        if (this.#eventOf(call, mark) !== undefined) this.#checkSequence(call, mark, call.outcome.answer.sequence);
        return;
      }
      case 'mergeMany':
        if (call.outcome.answer.updated > 0) this.#eventOf(call, call.merge.mark);
    }
  }

  #add(mark: number, call: MarkedCall, isIn: Sent['isIn']): void {
    const sent = this.#sent.get(mark);
    if (sent === undefined) this.#sent.set(mark, { attempts: [call], isIn });
    else sent.attempts.push(call);
  }

  #eventOf(call: MarkedCall, mark: number): LoggedEvent | undefined {
    const sequence = this.#sequenceOf.get(mark);
    const event = sequence === undefined ? undefined : entryAt(this.log, sequence)?.event;
    if (event === undefined) this.violate('lost write', `no event has mark ${mark}`, call);
    return event;
  }

  #checkRecord(call: MarkedCall, mark: number, id: number | undefined): LoggedEvent | undefined {
    const event = this.#eventOf(call, mark);
    if (event !== undefined && 'recordId' in event && event.recordId !== id)
      this.violate('wrong sequence', `mark ${mark} is record ${event.recordId}; the answer names record ${id}`, call);
    return event;
  }

  #checkSequence(call: MarkedCall, mark: number, answered: number): void {
    const sequence = this.#sequenceOf.get(mark);
    if (sequence !== undefined && answered !== sequence)
      this.violate('wrong sequence', `it is event ${sequence}; the answer names event ${answered}`, call);
  }

  #checkMadeOnce(attempts: readonly MarkedCall[]): void {
    const inserts = attempts.filter(isInsert).filter(({ outcome }) => outcome.kind === 'ok');
    const isRepeat = ({ outcome }: InsertCall): boolean => outcome.kind === 'ok' && outcome.answer.deduplicated;
    const makers = inserts.filter((call) => !isRepeat(call));
    if (makers.length > 1)
      this.violate('doubled write', `by the answers, one row was inserted ${makers.length} times`, ...makers);
    if (attempts.length === 1 && inserts.some(isRepeat))
      this.violate('wrong answer', 'the answer calls it a repeat, but it was sent once', ...inserts);
  }

  #isRow(event: LoggedEvent, { vector, metadata, text, requestId }: Row): boolean {
    if (event.type !== 'insert' || event.requestId !== requestId || event.metadata.color !== metadata.color)
      return false;
    if (event.text !== text) return false;
    const stored = storedIn(this.log, vector);
    return event.vector.length === stored.length && event.vector.every((value, i) => value === stored[i]);
  }

  /**
   * Rows that only this batch has sent are in the log contiguously, or not at all. Other rows are at their place in the
   * batch, or at an earlier one.
   */
  #checkWhole(batch: BatchCall): void {
    const marks = marksOf(batch);
    const isSentOnlyHere = ({ metadata }: Row): boolean =>
      this.#sent.get(metadata.mark)!.attempts.every((call) => call.op === 'insertBatch' && marksOf(call) === marks);
    const rows = batch.rows.map((row) => ({ isOwn: isSentOnlyHere(row), at: this.#sequenceOf.get(row.metadata.mark) }));
    const own = rows.filter(({ isOwn }) => isOwn);
    let isWhole = own.every(({ at }) => (at === undefined) === (own[0]!.at === undefined));
    let next: number | undefined;
    for (const { isOwn, at } of rows) {
      if (at === undefined || (!isOwn && at !== next)) continue;
      isWhole &&= next === undefined || at === next;
      next = at + 1;
    }
    if (!isWhole) this.violate('torn batch', `its rows are events ${rows.map(({ at }) => at).join(', ')}`, batch);
  }
}

const isUpdate = (event: LoggedEvent, { id, metadata }: UpdateCall): boolean =>
  isChangeOf(event, id) && event.metadata.color === metadata.color;

const isChangeOf = (event: LoggedEvent, id: number): event is LoggedEvent & { readonly type: 'updateMetadata' } =>
  event.type === 'updateMetadata' && event.recordId === id;

const isSecret = (event: LoggedEvent, { keyId, requestId }: Secret): boolean =>
  event.type === 'insertEncrypted' && event.requestId === requestId && (keyId === null || event.keyId === keyId);
