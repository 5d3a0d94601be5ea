/** Reads the options of a simulation from its command line. */
import { durationMs, parseFlags, UsageError } from '../../scripts/terminal/commandLine.js';
import { systemEntropy } from '../../shared/clock.js';
import type { Pace } from './pace.js';
import { SWEEP_WAYS, type SweepFault } from './sweep/point.js';

export interface SimulateOptions {
  /** Simulated time of all clusters together, in milliseconds. */
  readonly totalMs: number;
  /** Seed of the first cluster; each next cluster has the next seed. */
  readonly seed: number;
  /** Pace options that were given; the others are drawn from each cluster's seed. */
  readonly pace: Partial<Pace>;
  readonly jobs: number;
  readonly mode: 'run' | 'replay' | 'shrink' | 'mutations' | 'sweep';
  /** Selects the mutations or swept operations whose name contains this text. */
  readonly only: string;
  /** Longest search for one mutation, in milliseconds. */
  readonly withinMs: number;
  /** Event at which a replay ends. */
  readonly step: number | undefined;
  /** Numbers of the faults that are skipped. */
  readonly without: readonly number[];
  /** Number of fault kinds, from the first; undefined: all. */
  readonly kinds: number | undefined;
  /** The one fault of a replayed sweep. */
  readonly fault: SweepFault | undefined;
  /** Whether the sweep runs real processes. */
  readonly isReal: boolean;
  /** Faults per operation in a sweep; undefined: all. */
  readonly points: number | undefined;
}

export const USAGE = `npm run simulate -- [options]
  --hours N         simulated time of all clusters together (1)
  --seed N          seed of the first cluster; each next cluster has the next seed (random, printed)
  --length N        simulated seconds under faults per cluster (900, one in five 14400; with --mutations 240)
  --calm N          mean simulated seconds of calm between storms of faults; 0: no calms (75, one in five 1200;
                    with --mutations 0)
  --jobs N          processes that simulate in parallel (2)
  --replay          repeats the cluster of --seed, and prints a line for each event
  --step N          with --replay: ends at this event
  --without N,N     numbers of faults that are left out
  --kinds N         number of fault kinds, from the first (all): as many as existed when a seed failed
  --mutations       puts defects into the build, one after another, each of which must be found
  --only TEXT       with --mutations and --sweep: only those whose name contains TEXT
  --minutes N       with --mutations: longest search for each (10)
  --sweep           runs operations with a fault at each of their steps, one after another
  --real            with --sweep: real processes, under strace
  --points N        with --sweep: this many faults per operation, drawn (all)
  --fault 'WAY, N'  with --replay and --only: kind and step of the one fault in the sweep of this operation
  --shrink          shrinks the failing cluster of --seed: fewer faults, and less time`;

/** Upper bound of simulated time: no real clock waits for it. */
const SIMULATED_MAX_MS = 3.6e12;

/** Pace without calms, to find a mutation soon. */
const THICK: Pace = { durationMs: 240_000, calmMs: 0 };

const MODES = ['replay', 'shrink', 'mutations', 'sweep'] as const;

/** Throws a UsageError. */
export function readOptions(args: readonly string[]): SimulateOptions {
  const { values } = parseFlags({
    args: [...args],
    options: {
      hours: { type: 'string', default: '1' },
      seed: { type: 'string' },
      length: { type: 'string' },
      calm: { type: 'string' },
      jobs: { type: 'string', default: '2' },
      replay: { type: 'boolean', default: false },
      shrink: { type: 'boolean', default: false },
      mutations: { type: 'boolean', default: false },
      sweep: { type: 'boolean', default: false },
      only: { type: 'string', default: '' },
      minutes: { type: 'string', default: '10' },
      step: { type: 'string' },
      without: { type: 'string' },
      kinds: { type: 'string' },
      fault: { type: 'string' },
      real: { type: 'boolean', default: false },
      points: { type: 'string' },
    },
  });
  const count = (name: 'seed' | 'jobs' | 'step' | 'points' | 'kinds', least: number): number => {
    const value = Number(values[name]);
    if (!Number.isInteger(value) || value < least)
      throw new UsageError(`--${name} is ${values[name]}; allowed is a whole number, at least ${least}`);
    return value;
  };
  const { length, calm } = values;
  if ((values.replay || values.shrink) && values.seed === undefined)
    throw new UsageError('--replay and --shrink need the --seed of the cluster');
  return {
    totalMs: durationMs('--hours', values.hours, 'hours', SIMULATED_MAX_MS),
    seed: values.seed === undefined ? Buffer.from(systemEntropy(4)).readUInt32LE() % 1_000_000_000 : count('seed', 0),
    pace: {
      ...(values.mutations && THICK),
      ...(length !== undefined && { durationMs: durationMs('--length', length, 'seconds') }),
      ...(calm !== undefined && { calmMs: calm === '0' ? 0 : durationMs('--calm', calm, 'seconds') }),
    },
    jobs: count('jobs', 1),
    mode: MODES.find((mode) => values[mode]) ?? 'run',
    only: values.only,
    withinMs: durationMs('--minutes', values.minutes, 'minutes'),
    step: values.step === undefined ? undefined : count('step', 1),
    without: numbersIn(values.without ?? ''),
    kinds: values.kinds === undefined ? undefined : count('kinds', 1),
    isReal: values.real,
    points: values.points === undefined ? undefined : count('points', 1),
    fault: values.fault === undefined ? undefined : faultIn(values.fault),
  };
}

/** Throws a UsageError. */
function faultIn(text: string): SweepFault {
  const [way, step] = text.split(',', 2);
  const known = SWEEP_WAYS.find((each) => each === way);
  if (known === undefined || !(Number(step) >= 1))
    throw new UsageError(`--fault is ${text}; allowed are a way and a step: ${SWEEP_WAYS.join(', ')}; 1`);
  return { way: known, at: Number(step) };
}

/** Throws a UsageError. */
function numbersIn(text: string): number[] {
  const numbers = text === '' ? [] : text.split(',').map(Number);
  if (numbers.some((number) => !Number.isInteger(number) || number < 0))
    throw new UsageError(`--without is ${text}; allowed are the numbers of faults, separated by commas`);
  return numbers;
}
