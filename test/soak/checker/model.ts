/**
 * Model of a collection after each event of its log, in the simplest way and without engine code. It answers questions
 * of one form: at which first sequence from `from` to `to` was this answer true?
 */

import type { AnswerOf } from '../history/asked.js';
import type { GetCall } from '../history/records.js';
import type { Hit } from '../history/searches.js';
import { type GetSecretCall, plaintextOf } from '../history/secrets.js';
import { lastWrite } from './changes.js';
import { distance } from './distance.js';
import type { CollectionLog } from './log.js';
import { type ModelRecord, matching, recordsOf } from './modelRecord.js';
import { firstOf, NEVER, Span } from './span.js';
import { storedIn } from './stored.js';
import { type StateQuestion, WholeState } from './wholeState.js';

/** The list of living records is rebuilt after this many events. */
const SIFT_EVERY = 128;

/** Parameters of a search, and its hits. */
export interface Finding {
  readonly query: readonly number[];
  readonly color: number | null;
  readonly ids: readonly number[];
  readonly scores: readonly number[];
  /** Records behind it may be missing; null: none may. */
  readonly cut: Hit | null;
}

/** Sequences from the first to the last. */
type Range = readonly [from: number, to: number];

interface Looking {
  /** Allows `from` to decrease between calls, at the cost of a look at every record. */
  readonly anywhere?: boolean;
  /** Allows missing records before the cut too. */
  readonly isApproximate?: boolean;
}

export class Model {
  readonly #records: ModelRecord[];
  /** All records with a vector that live at or after `#siftedAt`, by birth. */
  #living: ModelRecord[];
  #siftedAt = 0;
  readonly #whole: WholeState;

  constructor(private readonly log: CollectionLog) {
    this.#records = recordsOf(log);
    this.#whole = new WholeState(log, this.#records);
    this.#living = this.#records.filter((record) => record?.vector !== undefined);
  }

  /** First sequence at which the record was not alive, not visible (tombstoned), or gone. */
  firstAbsent(id: number, from: number, to: number, what: 'diedAt' | 'removedAt' | 'goneAt'): number | undefined {
    const record = this.#records[id - 1];
    if (record === undefined || from < record.bornAt) return from;
    return firstOf(from, to, [record[what], NEVER]);
  }

  /** First sequence at which the record existed and had been written after `since`. */
  firstChanged(id: number, since: number, [from, to]: Range, until: 'diedAt' | 'goneAt'): number | undefined {
    const record = this.#records[id - 1];
    if (record === undefined) return undefined;
    const existed = firstOf(from, to, [record.bornAt, record[until]]);
    if (existed === undefined) return undefined;
    for (let sequence = existed; sequence <= to && sequence < record[until]; sequence++)
      if (lastWrite(record, sequence + 1) > since) return sequence;
    return undefined;
  }

  /** First sequence at which the answer about all live records was true. */
  firstWhole(question: StateQuestion, from: number, to: number): number | undefined {
    return this.#whole.first(question, from, to);
  }

  /** A record with a vector never has a secret. */
  firstWithoutSecret(id: number, from: number, to: number): number | undefined {
    return this.#records[id - 1]?.vector === undefined ? this.firstAbsent(id, from, to, 'removedAt') : from;
  }

  firstShowing(answer: AnswerOf<GetCall>, id: number, from: number, to: number): number | undefined {
    const record = this.#records[id - 1];
    if (record === undefined) return undefined;
    const { vector, bornAt, diedAt, versions } = record;
    if (vector === undefined) {
      const isShown = answer.metadata === null && answer.vector.every((value) => value === 0);
      return isShown ? firstOf(from, to, [bornAt, diedAt]) : undefined;
    }
    if (!isSame(vector, answer.vector)) return undefined;
    for (const [i, version] of versions.entries()) {
      if (!isMetadata(answer.metadata, version)) continue;
      const first = firstOf(from, to, [version.from, versions[i + 1]?.from ?? NEVER], [bornAt, diedAt]);
      if (first !== undefined) return first;
    }
    return undefined;
  }

  firstTelling(
    { keyId, plaintext }: AnswerOf<GetSecretCall>,
    id: number,
    from: number,
    to: number,
  ): number | undefined {
    const record = this.#records[id - 1];
    if (record?.secret === undefined) return undefined;
    if (record.secret.keyId !== keyId || plaintextOf(record.secret) !== plaintext) return undefined;
    return firstOf(from, to, [record.bornAt, Math.min(record.removedAt, record.lostAt)]);
  }

  /** First sequence at which the record exists and may be lost: its key is destroyed before the log says so. */
  firstLost(id: number, from: number, to: number): number | undefined {
    const record = this.#records[id - 1];
    if (record?.secret === undefined) return undefined;
    return firstOf(from, to, [record.bornAt, record.removedAt]);
  }

  firstFinding(finding: Finding, from: number, to: number, looking: Looking = {}): number | undefined {
    const { color, ids, scores, cut } = finding;
    const query = storedIn(this.log, finding.query);
    const span = new Span(from, to);
    let last: Hit | undefined;
    for (const [i, id] of ids.entries()) {
      const record = this.#records[id - 1];
      const score = scores[i]!;
      if (record?.vector === undefined || distance(record.vector, query) !== score) return undefined;
      if (last !== undefined && !isBefore(last, { id, score })) return undefined;
      last = { id, score };
      span.keepOnly(matching(record, color));
    }
    // An index may miss records, but never return fewer hits than there are matches.
    if (cut === null || !looking.isApproximate)
      this.#leaveOutBetter(span, { ...finding, query }, from, to, looking.anywhere ?? false);
    return span.first();
  }

  /** Ids of an exact search at `sequence`, and the birth of each record. */
  nearest(
    query: readonly number[],
    k: number,
    color: number | null,
    sequence: number,
  ): { readonly id: number; readonly bornAt: number }[] {
    const hits: (Hit & { readonly bornAt: number })[] = [];
    const stored = storedIn(this.log, query);
    for (const record of this.#records) {
      if (record?.vector === undefined) continue;
      if ([...matching(record, color)].some(([from, before]) => from <= sequence && sequence < before))
        hits.push({ id: record.id, score: distance(record.vector, stored), bornAt: record.bornAt });
    }
    return hits.sort((a, b) => (isBefore(a, b) ? -1 : 1)).slice(0, k);
  }

  /** Excludes sequences at which a record should have been among the hits, and is not. */
  #leaveOutBetter(span: Span, { query, color, ids, cut }: Finding, from: number, to: number, anywhere: boolean): void {
    const hits = new Set(ids);
    for (const record of anywhere ? this.#records : this.#alive(from)) {
      if (record?.vector === undefined || record.bornAt > to) continue;
      if (record.diedAt <= from || hits.has(record.id)) continue;
      const isBetter = cut === null || isBefore({ id: record.id, score: distance(record.vector, query) }, cut);
      if (isBetter) span.leaveOut(matching(record, color));
    }
  }

  #alive(from: number): readonly ModelRecord[] {
    if (from - this.#siftedAt >= SIFT_EVERY) {
      this.#living = this.#living.filter(({ diedAt }) => diedAt > from);
      this.#siftedAt = from;
    }
    return this.#living;
  }
}

const isBefore = (a: Hit, b: Hit): boolean => a.score < b.score || (a.score === b.score && a.id < b.id);

const isSame = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((value, i) => value === b[i]);

function isMetadata(answer: unknown, { color, mark }: { readonly color: number; readonly mark: number }): boolean {
  const given = answer as { color?: unknown; mark?: unknown } | null;
  return given?.color === color && given.mark === mark;
}
