/**
 * `npm run simulate`: runs clusters in simulated worlds, one after another, each with its own faults, and checks every
 * answer against the logs. Exits with 1 if anything was lost, stale or wrong. A seed always gives the same run.
 */
import { runCommand } from '../../scripts/terminal/commandLine.js';
import { grouped, say } from '../../scripts/terminal/line.js';
import { showProgress } from '../../scripts/terminal/progress.js';
import { EXIT_INTERRUPTED, onSignals } from '../../scripts/terminal/signals.js';
import { tableLines } from '../../scripts/terminal/table.js';
import type { RunOrder } from './child.js';
import { Child, type ChildResult } from './children.js';
import { findMutations } from './findMutations.js';
import { readOptions, type SimulateOptions, USAGE } from './options.js';
import { paceOf } from './pace.js';
import { shrink } from './shrink.js';
import { sweepReal } from './sweep/real/sweepReal.js';
import { sweep, orderOf as sweepOrder, sweeps } from './sweep/sweep.js';

const MS_PER_MINUTE = 60_000;
/** Failures per cluster that are shown in full. */
const SHOWN_MAX = 3;
/** Starting, and the time until everything is served again. */
const EXTRA_MS = 8_000;

const orderOf = ({ pace, without, kinds, step, fault, only }: SimulateOptions, seed: number): RunOrder => ({
  ...(fault === undefined
    ? { seed, without, ...(kinds !== undefined && { kinds }), ...paceOf(seed, pace) }
    : sweepOrder(seed, { ...sweeps(only)[0]!, fault })),
  ...(step !== undefined && { stopAtEvent: step }),
});

async function main(args: readonly string[]): Promise<number> {
  const options = readOptions(args);
  const children = Array.from({ length: options.jobs }, () => new Child());
  const end = async (): Promise<void> => void (await Promise.all(children.map((child) => child.end())));
  const interrupted = new AbortController();
  onSignals(
    () => interrupted.abort(),
    () => process.exit(EXIT_INTERRUPTED),
  );
  try {
    if (options.mode === 'replay') return await replay(options, children[0]!);
    if (options.mode === 'shrink') return await makeSmaller(options, children[0]!);
    if (options.mode === 'sweep' && options.isReal) return await sweepReal(options, interrupted.signal);
    if (options.mode === 'sweep') return await sweep(options, children, interrupted.signal);
    if (options.mode === 'mutations') return await findMutations(options, interrupted.signal);
    return await runAll(options, children, interrupted.signal);
  } finally {
    await end();
  }
}

async function runAll(options: SimulateOptions, children: readonly Child[], signal: AbortSignal): Promise<number> {
  const { totalMs } = options;
  const orders = ordersOf(options);
  say('plain', 'simulate', `${grouped(orders.length)} clusters from seed ${options.seed} on`);
  const sum = { clusters: 0, simulatedMs: 0, events: 0, calls: 0, failed: 0 };
  const faults = new Map<string, number>();
  const progress = showProgress('simulate', Math.ceil(totalMs / MS_PER_MINUTE), [
    'simulated minute',
    'simulated minutes',
  ]);
  let next = 0;
  let shownMinutes = 0;
  const work = async (child: Child): Promise<void> => {
    for (let order = orders[next++]; order !== undefined && !signal.aborted; order = orders[next++]) {
      const result = await child.run(order);
      sum.clusters++;
      sum.simulatedMs += result.simulatedMs;
      sum.events += result.events;
      sum.calls += result.calls;
      for (const [kind, times] of Object.entries(result.faults)) faults.set(kind, (faults.get(kind) ?? 0) + times);
      if (result.failures.length > 0) {
        sum.failed++;
        showFailure(result, order);
      }
      const minutes = Math.floor(sum.simulatedMs / MS_PER_MINUTE);
      progress.advance(minutes - shownMinutes);
      shownMinutes = minutes;
    }
  };
  await Promise.all(children.map(work));
  progress.finish();
  const columns = [{ title: 'fault' }, { title: 'times' }];
  process.stdout.write(`${tableLines(columns, [...faults].sort()).join('\n')}\n\n`);
  const hours = (sum.simulatedMs / MS_PER_MINUTE / 60).toFixed(2);
  const what = `${grouped(sum.clusters)} clusters, ${hours} hours, ${grouped(sum.events)} events, ${grouped(sum.calls)} calls`;
  say(sum.failed > 0 ? 'failed' : 'done', 'simulate', `${what}; ${sum.failed} failed`);
  return sum.failed > 0 ? 1 : 0;
}

/** Enough clusters for the requested time, at least one. Long ones start first, so that none ends alone. */
function ordersOf(options: SimulateOptions): RunOrder[] {
  const orders: RunOrder[] = [];
  for (let simulatedMs = 0; simulatedMs < options.totalMs; ) {
    const order = orderOf(options, options.seed + orders.length);
    const tookMs = order.durationMs + EXTRA_MS;
    // One more cluster would now miss the requested time by more.
    if (orders.length > 0 && simulatedMs + tookMs / 2 > options.totalMs) break;
    orders.push(order);
    simulatedMs += tookMs;
  }
  return orders.sort((a, b) => b.durationMs - a.durationMs || a.seed - b.seed);
}

/** Options that repeat a cluster. */
const againWith = ({ seed, durationMs, calmMs = 0, kinds, without = [] }: RunOrder): string =>
  [
    `npm run simulate -- --seed ${seed} --length ${durationMs / 1_000} --calm ${calmMs / 1_000}`,
    ...(kinds === undefined ? [] : [`--kinds ${kinds}`]),
    ...(without.length > 0 ? [`--without ${without.join(',')}`] : []),
    '--replay',
  ].join(' ');

function showFailure(result: ChildResult, order: RunOrder): void {
  const { seed, events, failures } = result;
  say('failed', 'simulate', `seed ${seed}, event ${events}: ${failures.length} failures`);
  for (const failure of failures.slice(0, SHOWN_MAX)) process.stdout.write(`${failure}\n`);
  process.stdout.write(`again: ${againWith(order)}\n\n`);
}

async function replay(options: SimulateOptions, child: Child): Promise<number> {
  const print = (line: string): void => void process.stdout.write(`${line}\n`);
  const result = await child.run({ ...orderOf(options, options.seed), isTraced: true }, print);
  const { hash, events, failures } = result;
  for (const failure of failures) print(`\n${failure}`);
  say(failures.length > 0 ? 'failed' : 'done', 'simulate', `${grouped(events)} events, hash ${hash}`);
  return failures.length > 0 ? 1 : 0;
}

async function makeSmaller(options: SimulateOptions, child: Child): Promise<number> {
  const report = (text: string): void => say('plain', 'simulate', text);
  const { order, result, faults } = await shrink(
    orderOf(options, options.seed),
    (smaller) => child.run(smaller),
    report,
  );
  showFailure(result, order);
  say('done', 'simulate', `${faults.length} faults are needed: ${faults.join(', ') || 'none'}`);
  return 1;
}

await runCommand({ name: 'simulate', usage: USAGE }, async (args) => {
  process.exitCode = await main(args);
});
