/** Makes one fault after another during the run; after each, waits until everything is served again. */
import { setTimeout as wait } from 'node:timers/promises';
import { systemClock } from '../../../shared/clock.js';
import { messageOf } from '../../../shared/errors/errors.js';
import type { SoakCluster } from '../cluster/soakCluster.js';
import type { SeededRandom } from '../random.js';
import type { PastFault } from './fault.js';
import { drawFault, type Timing } from './plan.js';

export interface ScheduleOptions {
  readonly cluster: SoakCluster;
  readonly random: SeededRandom;
  readonly timing: Timing;
  /** End of the faults. */
  readonly untilMs: number;
  /** Limits faults to kinds whose name contains this text; undefined: all kinds. */
  readonly only: string | undefined;
  /** Collections without an answer since then. */
  readonly silentSince: (sinceMs: number) => readonly string[];
  /** Longest time after a fault until everything is served. */
  readonly settleMs: number;
  readonly report: (text: string) => void;
  /** Once it is aborted, no further fault is made. */
  readonly signal: AbortSignal | undefined;
}

/** After one fault in this many the schedule does not wait, so that the next fault overlaps it. */
const OVERLAP_ONE_IN = 6;
const CALM_MS = 2_000;
const POLL_MS = 50;

export interface Schedule {
  /** Number of faults; in `faults`, overlapping ones count as one. */
  readonly made: number;
  readonly faults: readonly PastFault[];
  /** Collections that were not served in time, each with its fault. */
  readonly unsettled: readonly string[];
}

export async function runSchedule(options: ScheduleOptions): Promise<Schedule> {
  const { random, untilMs, report, only, signal } = options;
  const faults: PastFault[] = [];
  const unsettled: string[] = [];
  /** The fault after which the schedule did not wait. */
  let open: PastFault | undefined;
  let made = 0;
  while (systemClock.monotonicMs() < untilMs && !signal?.aborted) {
    await wait(random.int(CALM_MS));
    const { kind, text, run } = drawFault(options, only);
    report(text);
    made++;
    const startMs = systemClock.monotonicMs();
    await run().catch((error: unknown) => unsettled.push(`${text}: ${messageOf(error)}`));
    const healedMs = systemClock.monotonicMs();
    const overlapsNext = random.int(OVERLAP_ONE_IN) === 0 && healedMs < untilMs;
    const silent = overlapsNext ? [] : await settle(options, healedMs);
    if (silent.length > 0) {
      unsettled.push(`${text}: ${silent.join(', ')} not served ${options.settleMs / 1_000} s after it was over`);
      report(`! ${unsettled.at(-1)}`);
    }
    const past = joined(open, { kind, text, startMs, healedMs, settledMs: systemClock.monotonicMs() });
    open = overlapsNext ? past : undefined;
    if (!overlapsNext) faults.push(past);
  }
  return { made, faults: open === undefined ? faults : [...faults, open], unsettled };
}

const joined = (before: PastFault | undefined, fault: PastFault): PastFault =>
  before === undefined
    ? fault
    : { ...fault, kind: 'several faults at once', text: `${before.text}; ${fault.text}`, startMs: before.startMs };

/** Waits until every collection has answered a write and a search that began after the fault. */
async function settle({ silentSince, settleMs }: ScheduleOptions, sinceMs: number): Promise<readonly string[]> {
  const giveUpMs = systemClock.monotonicMs() + settleMs;
  for (;;) {
    const silent = silentSince(sinceMs);
    if (silent.length === 0 || systemClock.monotonicMs() >= giveUpMs) return silent;
    await wait(POLL_MS);
  }
}
