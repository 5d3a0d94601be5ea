/** Report of a soak. */
import { grouped } from '../../scripts/terminal/line.js';
import { type Column, tableLines } from '../../scripts/terminal/table.js';
import { gapsOf, latenciesOutside } from './availability.js';
import { describeViolation } from './checker/violations.js';
import type { Call } from './history.js';
import type { MemoryOf } from './memory.js';
import type { SoakOptions } from './options.js';
import type { SoakResult } from './run.js';

const MIB = 2 ** 20;
/** Allowed growth of a process over a run, as a share and an amount: its data grow too. */
const GROWTH_SHARE = 0.5;
const GROWTH_BYTES = 96 * MIB;

/** Every violation, one line each; empty if all is well. */
export function failuresOf(result: SoakResult): string[] {
  const { verdict, access, crashes, errors, unsettled, unserved, unbuilt, memory } = result;
  return [
    ...[...verdict.counts].map(([kind, count]) => `${grouped(count)} × ${kind}`),
    ...(access.wrong.length === 0 ? [] : [`${grouped(access.wrong.length)} × wrong access log`]),
    ...crashes.map(({ name, how }) => `${name} ended ${how}, without an order`),
    ...[...errors.keys()].filter((message) => ALARM.test(message)).map((message) => `logged as an error: ${message}`),
    ...unsettled,
    ...unserved.map((name) => `${name} was not served again after the last fault`),
    ...unbuilt,
    ...memory.filter(grows).map(({ name }) => `the memory of ${name} keeps growing`),
  ];
}

/** Errors that no fault of a soak may cause. */
const ALARM = /collection quarantined|unexpected failure/;

const grows = ({ earlyBytes, lateBytes }: MemoryOf): boolean =>
  lateBytes - earlyBytes > Math.max(GROWTH_BYTES, GROWTH_SHARE * earlyBytes);

export function reportLines(result: SoakResult, options: SoakOptions): string[] {
  const failures = failuresOf(result);
  return [
    ...section('calls', callTable(result.calls)),
    ...section('longest time without an answer, in ms, by fault', gapTable(result)),
    ...section('latency outside of faults, in ms', latencyTable(result)),
    ...section('memory of each process, in MiB', memoryTable(result.memory)),
    ...section('logs', logLines(result)),
    ...section('processes', [
      `${result.crashes.length} ended by themselves; ${result.failedStarts} starts were repeated`,
      ...[...result.errors].map(([message, count]) => `${grouped(count)} × logged as an error: ${message}`),
    ]),
    ...section('check', checkLines(result)),
    ...(failures.length === 0 ? [] : section('FAILED', [...failures, '', ...violationLines(result)])),
    replayLine(options),
  ];
}

const section = (title: string, lines: readonly string[]): string[] => [title, ...lines.map((line) => `  ${line}`), ''];

function callTable(calls: readonly Call[]): string[] {
  const rows = new Map<string, { ok: number; no: number; refused: number; unknown: number }>();
  for (const call of calls) {
    const name = nameOf(call);
    const row = rows.get(name) ?? { ok: 0, no: 0, refused: 0, unknown: 0 };
    rows.set(name, row);
    const { kind } = call.outcome;
    row[kind === 'ok' || kind === 'refused' || kind === 'unknown' ? kind : 'no']++;
  }
  const columns = ['call', 'answered', 'absent, shredded, changed, busy', 'refused', 'unknown'].map((title) => ({
    title,
  }));
  const cells = [...rows].sort().map(([name, { ok, no, refused, unknown }]) => [name, ok, no, refused, unknown]);
  return tableLines(columns, cells);
}

function nameOf(call: Call): string {
  if (!('isEventual' in call)) return call.op;
  if ('asOf' in call && call.asOf !== null) return `${call.op}, as of`;
  return call.isEventual ? `${call.op}, eventual` : call.op;
}

function gapTable({ calls, faults }: SoakResult): string[] {
  const columns: Column[] = ['fault', 'times', 'write', 'search', 'any write', 'answered 503'].map((title) => ({
    title,
  }));
  const rows = gapsOf(calls, faults).map(({ kind, faults: times, writeMs, searchMs, anyWriteMs, unavailable }) => [
    kind,
    times,
    writeMs,
    searchMs,
    anyWriteMs,
    unavailable,
  ]);
  return tableLines(columns, rows);
}

function latencyTable({ calls, faults }: SoakResult): string[] {
  const columns: Column[] = [
    { title: 'call' },
    { title: 'calls' },
    { title: 'p50', decimals: 1 },
    { title: 'p99', decimals: 1 },
  ];
  const rows = latenciesOutside(calls, faults).map(({ what, calls: count, p50Ms, p99Ms }) => [
    what,
    count,
    p50Ms,
    p99Ms,
  ]);
  return tableLines(columns, rows);
}

function memoryTable(memory: readonly MemoryOf[]): string[] {
  const columns: Column[] = ['process', 'second quarter', 'last quarter', 'peak'].map((title) => ({ title }));
  const rows = memory.map(({ name, earlyBytes, lateBytes, peakBytes }) => [
    name,
    earlyBytes / MIB,
    lateBytes / MIB,
    peakBytes / MIB,
  ]);
  return tableLines(columns, rows);
}

function logLines({ logs }: SoakResult): string[] {
  const events = logs.reduce((sum, log) => sum + log.events, 0);
  const bytes = logs.reduce((sum, log) => sum + log.sizeBytes, 0);
  return [`${logs.length} collections, ${grouped(events)} events, ${grouped(Math.round(bytes / 1_024))} KiB`];
}

function checkLines({ verdict, access, made, outdated }: SoakResult): string[] {
  const { writes, reads, receipts, events } = verdict.checked;
  const violations = [...verdict.counts.values()].reduce((sum, count) => sum + count, 0);
  return [
    `${made} faults; ${grouped(writes)} writes, ${grouped(reads)} answers of reads and ${grouped(receipts)} receipts`,
    `(questions straight to present and former owners and to followers: ${grouped(outdated.answered)} answered, ${grouped(outdated.turnedAway)} not;`,
    `${grouped(outdated.strongByFollowers)} of the answers are from followers to strong searches)`,
    `checked against logs of ${grouped(events)} events, each verified from its first byte:`,
    `searches over an index found ${shareOf(verdict.recall.all)} of the nearest, ${shareOf(verdict.recall.young)} of the newest of them`,
    `${grouped(access.entries)} entries of access logs compared with the reads`,
    violations === 0 ? 'nothing lost, nothing doubled, nothing stale, nothing wrong' : `${violations} VIOLATIONS`,
  ];
}

const shareOf = ({ found, wanted }: { readonly found: number; readonly wanted: number }): string =>
  wanted === 0 ? 'none' : `${((100 * found) / wanted).toFixed(1)}%`;

const ACCESS_SHOWN = 20;

const violationLines = ({ verdict, access, folder }: SoakResult): string[] => [
  ...access.wrong.slice(0, ACCESS_SHOWN),
  ...verdict.violations.flatMap((violation) => describeViolation(violation).split('\n')),
  `the history and the logs of all processes are in ${folder}`,
];

function replayLine(options: SoakOptions): string {
  const { durationMs, seed, servers, shards, coordinators, collections, clients, rate, followers, only } = options;
  const parts = `--nats ${servers} --shards ${shards} --coordinators ${coordinators} --followers ${followers}`;
  const size = `${parts} --collections ${collections} --clients ${clients} --rate ${rate}`;
  const narrowed = only === undefined ? '' : ` --only ${JSON.stringify(only)}`;
  return `again: npm run soak -- --minutes ${durationMs / 60_000} --seed ${seed} ${size}${narrowed}`;
}
