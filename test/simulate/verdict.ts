/** The verdict of the soak's checker on a simulated service, and on what its processes have logged and how they ended. */
import { checkHistory } from '../soak/checker/check.js';
import { describeViolation } from '../soak/checker/violations.js';
import type { Call } from '../soak/history.js';
import type { LogOf } from '../soak/readLogs.js';
import { type SimulatedShape, STALE_MS } from './cluster/shape.js';
import { crashesOf, type SimulatedService } from './cluster/simulatedService.js';
import { withoutFullness, withSequences } from './judge.js';

export interface Judged {
  readonly service: SimulatedService;
  readonly shape: SimulatedShape;
  readonly collections: readonly LogOf[];
  readonly calls: readonly Call[];
  /** Whether a disk was full. */
  readonly wasFull: boolean;
}

/** What must not be; nothing where all is well. */
export async function verdictOn({ service, shape, collections, calls, wasFull }: Judged): Promise<string[]> {
  const { world, logs: logged } = service;
  const logs = await service.readLogs(collections, calls);
  const indexed = new Map(
    shape.collections.flatMap(({ name, index }) => (index === 'none' ? [] : [[name, 'none'] as const])),
  );
  const told = service.nats === undefined ? withSequences(calls, logs) : calls;
  const verdict = checkHistory(wasFull ? withoutFullness(told) : told, logs, { staleMs: STALE_MS, indexed });
  for (const { entries } of logs) world.trace.number(entries.length);
  world.note(JSON.stringify(verdict.checked));
  return [
    ...verdict.violations.map((violation) => describeViolation(violation)),
    ...crashesOf(service).map((crash) => `a process ended by itself: ${crash}`),
    ...logged.alarms.map((alarm) => `logged as an error: ${alarm}`),
  ];
}
