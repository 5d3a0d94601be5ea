/** Measures how long no call was answered during faults, and the latency outside of them. */
import type { FaultKind, PastFault } from './faults/fault.js';
import { type Call, isWrite } from './history.js';

export interface Gaps {
  readonly kind: FaultKind;
  readonly faults: number;
  /** Longest time without an answered call, of the collection that waited longest. */
  readonly writeMs: number;
  readonly searchMs: number;
  /** Longest time in which no collection's write was answered. */
  readonly anyWriteMs: number;
  /** Calls answered with 503 that ended while such a fault showed. */
  readonly unavailable: number;
}

/** Times of answers, ascending. */
type Times = readonly number[];

export function gapsOf(calls: readonly Call[], faults: readonly PastFault[]): Gaps[] {
  const writes = answerTimes(calls.filter(isWrite));
  const searches = answerTimes(calls.filter(({ op }) => op === 'search'));
  const anyWrite: Times = [...writes.values()].flat().sort((a, b) => a - b);
  const unavailable = calls.filter(({ outcome }) => outcome.kind === 'unknown' && outcome.why.startsWith('503'));
  const kinds = [...new Set(faults.map(({ kind }) => kind))].sort();
  return kinds.map((kind) => {
    const ofKind = faults.filter((fault) => fault.kind === kind);
    const longest = (times: Iterable<Times>): number =>
      Math.max(0, ...[...times].flatMap((each) => ofKind.map((fault) => longestGap(each, fault))));
    return {
      kind,
      faults: ofKind.length,
      writeMs: longest(writes.values()),
      searchMs: longest(searches.values()),
      anyWriteMs: longest([anyWrite]),
      unavailable: unavailable.filter((call) => ofKind.some((fault) => showedIn(call, fault))).length,
    };
  });
}

const showedIn = ({ endMs }: Call, { startMs, settledMs }: PastFault): boolean =>
  endMs >= startMs && endMs <= settledMs;

function answerTimes(calls: readonly Call[]): Map<string, number[]> {
  const times = new Map<string, number[]>();
  for (const { collection, endMs, outcome } of calls) {
    // "Not found" is an answer too.
    if (outcome.kind !== 'ok' && outcome.kind !== 'absent') continue;
    const known = times.get(collection);
    if (known === undefined) times.set(collection, [endMs]);
    else known.push(endMs);
  }
  for (const each of times.values()) each.sort((a, b) => a - b);
  return times;
}

/** Longest gap between neighbours, counted only within the time in which the fault showed. */
function longestGap(times: Times, { startMs, settledMs }: PastFault): number {
  let longest = 0;
  let before = startMs;
  for (let i = firstAfter(times, startMs); before < settledMs; i++) {
    const next = Math.min(times[i] ?? settledMs, settledMs);
    longest = Math.max(longest, next - before);
    before = next;
  }
  return longest;
}

function firstAfter(times: Times, atMs: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle]! <= atMs) low = middle + 1;
    else high = middle;
  }
  return low;
}

export interface Latency {
  readonly what: 'writes' | 'searches' | 'other reads';
  readonly calls: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Latencies of answered calls that no fault can have touched. */
export function latenciesOutside(calls: readonly Call[], faults: readonly PastFault[]): Latency[] {
  const quiet = calls.filter(
    ({ outcome, startMs, endMs }) =>
      outcome.kind === 'ok' && !faults.some((fault) => startMs <= fault.settledMs && endMs >= fault.startMs),
  );
  const whatOf = (call: Call): Latency['what'] =>
    isWrite(call) ? 'writes' : call.op === 'search' ? 'searches' : 'other reads';
  return (['writes', 'searches', 'other reads'] as const).map((what) => {
    const times = quiet
      .filter((call) => whatOf(call) === what)
      .map(({ startMs, endMs }) => endMs - startMs)
      .sort((a, b) => a - b);
    const at = (share: number): number => times[Math.floor(share * (times.length - 1))] ?? 0;
    return { what, calls: times.length, p50Ms: at(0.5), p99Ms: at(0.99) };
  });
}
