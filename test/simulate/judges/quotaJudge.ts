/**
 * Judges the quotas of the project by the use of all its collections after each applied frame. Live records never exceed their
 * quota. Bytes exceed theirs at most by deletions and shreds, which are never refused. A request is refused only near a quota.
 */
import type { CollectionState } from '../../../shard/state/collectionState.js';
import type { Event } from '../../../shared/log/event.js';
import { eventSizeBytes } from '../../../shared/log/eventLayout.js';
import { EVENT_PREFIX_BYTES, type Frame } from '../../../shared/log/frame.js';
import { actorBesideBytes } from '../../../shared/log/frameActors.js';
import { type Amount, totalHeld } from '../../../shared/model/quotas.js';
import type { Call } from '../../soak/history.js';
import type { Findings } from './findings.js';

type Kind = keyof Amount;

const REFUSAL = /^507 capacity_exceeded: the quota of (records|bytes) is full: .*, and the request adds (\d+)$/;

/** Share of a quota that a refused request would have reached at some moment since LONG_MS before its start. */
const NEAR_SHARE = 0.5;
const LONG_MS = 10_000;

interface Used extends Amount {
  readonly sequence: number;
}

interface Moment extends Amount {
  readonly atMs: number;
}

export const isQuotaRefusal = ({ outcome }: Call): boolean => outcome.kind === 'refused' && REFUSAL.test(outcome.why);

/** Returns a judge; undefined if the service has its default quotas, which no simulation reaches. */
export function quotaJudgeOf(findings: Findings, settings: Readonly<Record<string, string>>): QuotaJudge | undefined {
  const { VOUCH_MAX_RECORDS: records, VOUCH_MAX_BYTES: bytes } = settings;
  if (records === undefined && bytes === undefined) return undefined;
  const limitOf = (text: string | undefined): number => (text === undefined ? Number.POSITIVE_INFINITY : Number(text));
  return new QuotaJudge(findings, { records: limitOf(records), bytes: limitOf(bytes) });
}

export class QuotaJudge {
  /** Use of each collection, after the newest frame that a process has applied. */
  readonly #used = new Map<number, Used>();
  /** Use of all collections after each applied frame. */
  readonly #moments: Moment[] = [{ atMs: 0, records: 0, bytes: 0 }];
  /** Bytes of deletions and shreds. */
  #exemptBytes = 0;
  #isOver = false;

  constructor(
    private readonly findings: Findings,
    private readonly limits: Amount,
  ) {}

  /** Receives each applied frame. */
  applied(collectionId: number, frame: Frame, state: CollectionState): void {
    const { lastSequence: sequence, liveRecords: records } = frame.header;
    if (this.#isOver || sequence <= (this.#used.get(collectionId)?.sequence ?? -1)) return;
    this.#used.set(collectionId, { sequence, records, bytes: totalHeld(state.heldBytes) + frame.end.logBytes });
    this.#exemptBytes += exemptBytesOf(frame);
    const now = { atMs: this.findings.world.nowMs, records: this.#sum('records'), bytes: this.#sum('bytes') };
    this.#moments.push(now);
    this.#hold('records', now.records);
    this.#hold('bytes', now.bytes - this.#exemptBytes);
  }

  /** Ends the judgement. Call it after servers have lost what the quotas count. */
  forget(): void {
    this.#isOver = true;
  }

  /** Reports refusals far below a quota. Returns the calls, in which refusals by a quota count as without effect. */
  judged(calls: readonly Call[]): Call[] {
    return calls.map((call) => {
      const [, kind, brings] = (call.outcome.kind === 'refused' && REFUSAL.exec(call.outcome.why)) || [];
      if (kind === undefined) return call;
      this.#explain(kind as Kind, Number(brings), call);
      return { ...call, outcome: { kind: 'busy' } } as Call;
    });
  }

  #explain(kind: Kind, brings: number, { startMs, endMs, op, collection }: Call): void {
    if (this.#isOver) return;
    const most = this.#most(kind, startMs - LONG_MS, endMs);
    if (most + brings < NEAR_SHARE * this.limits[kind])
      this.findings.add(`${op} of ${collection} is refused with ${most} of ${this.limits[kind]} ${kind} in use`);
  }

  /** Returns the greatest use at any moment of a time. */
  #most(kind: Kind, fromMs: number, toMs: number): number {
    const first = this.#moments.findLastIndex(({ atMs }) => atMs <= fromMs);
    let most = 0;
    for (let i = Math.max(first, 0); i < this.#moments.length && this.#moments[i]!.atMs <= toMs; i++)
      most = Math.max(most, this.#moments[i]![kind]);
    return most;
  }

  #hold(kind: Kind, used: number): void {
    if (used > this.limits[kind]) this.findings.add(`the project uses ${used} of ${this.limits[kind]} ${kind}`);
  }

  #sum(kind: Kind): number {
    let sum = 0;
    for (const used of this.#used.values()) sum += used[kind];
    return sum;
  }
}

/** Returns the bytes of deletions and shreds: those of the whole frame if it has no other events. */
function exemptBytesOf({ bytes, events }: Frame): number {
  if (events.every(isExempt)) return bytes.length;
  return events.reduce((sum, event, i) => {
    const beside = EVENT_PREFIX_BYTES + actorBesideBytes(event.actor, events[i - 1]?.actor ?? null);
    return isExempt(event) ? sum + beside + eventSizeBytes(event) : sum;
  }, 0);
}

const isExempt = ({ type }: Event): boolean =>
  type === 'softDelete' ||
  type === 'delete' ||
  type === 'deleteMany' ||
  type === 'shredKey' ||
  type === 'deleteNode' ||
  type === 'deleteEdge';
