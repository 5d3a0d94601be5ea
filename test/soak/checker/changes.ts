/**
 * Checks what changes of metadata and conditional writes did, by the state before them. No record of an answered write had changed
 * since the event that the call names. A merge keeps the colour that it does not name. A change of many records has each of them.
 */
import type { MergeManyCall } from '../history/records.js';
import type { WriteCall } from '../history.js';
import type { CollectionLog } from './log.js';
import { type ModelRecord, recordsOf } from './modelRecord.js';
import { NEVER } from './span.js';
import type { Violations } from './violations.js';

export function checkChanges(log: CollectionLog, calls: readonly WriteCall[], violations: Violations): void {
  const check = new ChangeCheck(log, violations);
  for (const call of calls) {
    if ('since' in call && call.since !== null) check.unchanged(call, call.since);
    if (call.op === 'mergeMetadata' || call.op === 'mergeMany') check.merged(call, call.merge.mark);
    if (call.op === 'mergeMany') check.whole(call);
  }
}

/** The last sequence at which the record was written before `sequence`; deletions do not count, except the soft one. */
export function lastWrite({ bornAt, versions, removedAt, goneAt }: ModelRecord, sequence: number): number {
  const writes = [bornAt, ...versions.map(({ from }) => from), removedAt < goneAt ? removedAt : NEVER];
  return Math.max(...writes.filter((at) => at < sequence));
}

class ChangeCheck {
  readonly #records: readonly (ModelRecord | undefined)[];
  /** Sequences of the changes of metadata, by mark. */
  readonly #changes = new Map<number, number[]>();

  constructor(
    private readonly log: CollectionLog,
    private readonly violations: Violations,
  ) {
    this.#records = recordsOf(log);
    for (const [i, { event }] of log.entries.entries()) {
      if (event.type !== 'updateMetadata') continue;
      const { mark } = event.metadata;
      this.#changes.set(mark, [...(this.#changes.get(mark) ?? []), i + 1]);
    }
  }

  unchanged(call: WriteCall & { readonly id: number }, since: number): void {
    if (call.outcome.kind !== 'ok' || !('sequence' in call.outcome.answer)) return;
    const record = this.#records[call.id - 1];
    const { sequence = NEVER } = call.outcome.answer;
    const last = record === undefined || sequence === NEVER ? 0 : lastWrite(record, sequence);
    if (last > since) this.#violate(`event ${last} had changed the record after ${since}`, call);
  }

  merged(call: WriteCall, mark: number): void {
    const { color } = (call as MergeManyCall).merge;
    for (const sequence of this.#changes.get(mark) ?? []) {
      const { event } = this.log.entries[sequence - 1]!;
      if (event.type !== 'updateMetadata') continue;
      const before = this.#records[event.recordId - 1]?.versions.findLast(({ from }) => from < sequence);
      const expected = color ?? before?.color;
      if (event.metadata.color !== expected)
        this.#violate(`event ${sequence} has colour ${event.metadata.color} in place of ${expected}`, call);
    }
  }

  /** A change without any event shows no moment at which its records could be listed. */
  whole(call: MergeManyCall): void {
    const sequences = this.#changes.get(call.merge.mark) ?? [];
    const [first] = sequences;
    if (call.outcome.kind === 'ok' && call.outcome.answer.updated !== sequences.length)
      this.#violate(`the log has ${sequences.length} of its changes`, call);
    if (first === undefined) return;
    if (sequences.some((sequence, i) => sequence !== first + i))
      this.violations.add('torn batch', this.log.collection, `its changes are events ${sequences.join(', ')}`, call);
    const changed = sequences.map((sequence) => {
      const { event } = this.log.entries[sequence - 1]!;
      return 'recordId' in event ? event.recordId : null;
    });
    const expected = this.#records.flatMap((record) =>
      record !== undefined && record.bornAt < first && record.diedAt >= first && this.#isNamed(record, call, first)
        ? [record.id]
        : [],
    );
    if ([...changed].sort().join() !== [...expected].sort().join())
      this.#violate(`it changes records ${changed.join(', ')} in place of ${expected.join(', ')}`, call);
  }

  #isNamed({ id, versions }: ModelRecord, { of }: MergeManyCall, sequence: number): boolean {
    if ('ids' in of) return of.ids.includes(id);
    return versions.findLast(({ from }) => from < sequence)?.color === of.color;
  }

  #violate(what: string, call: WriteCall): void {
    this.violations.add('wrong answer', this.log.collection, what, call);
  }
}
