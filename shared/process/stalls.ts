/**
 * Reports stalls of this process: turns of its event loop or of a worker thread that were too long, with the work that ran. A
 * time without CPU is a pause instead: the process was stopped or suspended, or the machine was busy. No work caused it.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../clock.js';
import type { Logger } from '../logger.js';
import { takeLongest, type Work } from '../scheduling/currentWork.js';

/** The longest turn of the event loop, and of a worker thread, that is not reported. */
const LOOP_STALL_MS = 100;
export const WORKER_STALL_MS = 1_000;

const TICK_MS = 20;
/** Share of CPU time that distinguishes work from a pause: a working thread uses about all time, a stopped process none. */
const CPU_PART = 0.5;
/** At most one line is logged in this time. */
const LOG_EVERY_MS = 1_000;
/** A longer stall is logged as a warning: requests have waited for it. */
const ALARM_MS = 1_000;

export type StalledThread = 'loop' | 'body';

export interface Stall {
  readonly thread: StalledThread;
  /** Wall time. */
  readonly ms: number;
  /** CPU time of the whole process meanwhile. */
  readonly cpuMs: number;
  /** `pause`: the process did not run. */
  readonly cause: 'work' | 'pause';
  /** The work that ran, then the work shortly before it; empty: not known. */
  readonly works: readonly Work[];
}

type Listener = (stall: Stall) => void;

const listeners = new Set<Listener>();

/** Calls `listener` after each stall of the process. The returned function ends that. */
export function onStall(listener: Listener): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

export function reportStall({ thread, ms, cpuMs, works }: Omit<Stall, 'cause'>): void {
  const stall: Stall = { thread, ms, cpuMs, works, cause: cpuMs < ms * CPU_PART ? 'pause' : 'work' };
  for (const listener of listeners) listener(stall);
}

/** Resolves when a stall that ended just now is reported: the timer that reports it is overdue, so it precedes a new one. */
export const untilStallsReported = (): Promise<void> => delay(1);

/** CPU time of the process, in milliseconds. */
export function cpuTimeMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Watches the event loop of this thread, and logs all stalls of the process. The returned function ends it. */
export function watchStalls(logger: Logger): () => void {
  const endLog = onStall(stallLog(logger));
  takeLongest();
  let tickedMs = systemClock.monotonicMs();
  let cpuMs = cpuTimeMs();
  const tick = (): void => {
    const longest = takeLongest();
    const [sinceMs, sinceCpuMs] = [tickedMs, cpuMs];
    tickedMs = systemClock.monotonicMs();
    cpuMs = cpuTimeMs();
    const ms = tickedMs - sinceMs - TICK_MS;
    if (ms < LOOP_STALL_MS) return;
    // Many short turns in a row stall the loop too, and no single one is to blame.
    const works = longest.ms < ms / 2 ? [] : longest.works;
    reportStall({ thread: 'loop', ms, cpuMs: cpuMs - sinceCpuMs, works });
  };
  const timer = setInterval(tick, TICK_MS).unref();
  return () => {
    clearInterval(timer);
    endLog();
  };
}

/** Returns the name of the work that ran. */
export const stalledOp = ({ works }: Stall): string => works[0]?.op ?? 'unknown';

function stallLog(logger: Logger): Listener {
  let loggedMs = Number.NEGATIVE_INFINITY;
  let unlogged = 0;
  return (stall) => {
    const nowMs = systemClock.monotonicMs();
    if (nowMs - loggedMs < LOG_EVERY_MS) {
      unlogged++;
      return;
    }
    loggedMs = nowMs;
    const { thread, cause, works } = stall;
    const times = { thread, ms: Math.round(stall.ms), cpuMs: Math.round(stall.cpuMs), unlogged };
    unlogged = 0;
    if (cause === 'pause') {
      logger.info(times, 'the process did not run for a while: it was stopped or suspended, or had no CPU');
      return;
    }
    const [first = { op: 'unknown' }, ...before] = works.map(described);
    const level = stall.ms < ALARM_MS ? 'info' : 'warn';
    logger[level]({ ...times, ...first, before }, 'a turn of a thread took too long');
  };
}

const described = ({ op, subject }: Work) => ({
  op,
  ...(subject && { collectionId: subject.id, project: subject.project, name: subject.name }),
});
