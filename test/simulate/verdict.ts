/** The verdict of the soak's checker on a simulated service, and on what its processes have logged and how they ended. */
import { checkHistory } from '../soak/checker/check.js';
import { describeViolation } from '../soak/checker/violations.js';
import type { Call } from '../soak/history.js';
import type { LogOf } from '../soak/readLogs.js';
import type { SimulatedShape } from './cluster/shape.js';
import { crashesOf, type SimulatedService } from './cluster/simulatedService.js';
import { withoutDiskErrors, withSequences } from './judge.js';
import { judgeLoss, sinceLoss } from './judges/sinceLoss.js';

export interface Judged {
  readonly service: SimulatedService;
  readonly shape: SimulatedShape;
  readonly collections: readonly LogOf[];
  readonly calls: readonly Call[];
  /** Whether a disk was full or failed: an answer may tell of it. */
  readonly hadErrors: boolean;
  /** Whether bits have rotted. */
  readonly hasRot: boolean;
}

/** What must not be; nothing where all is well. */
export async function verdictOn(judged: Judged): Promise<string[]> {
  const { service, shape, collections, calls, hadErrors, hasRot } = judged;
  const { world, nats } = service;
  const logs = await service.readLogs(collections, calls);
  const indexed = new Map(
    shape.collections.flatMap(({ name, index }) => (index === 'none' ? [] : [[name, 'none'] as const])),
  );
  const staleMs = Number(shape.settings.VOUCH_FOLLOWERS_STALE_MS);
  const loss = nats?.loss;
  const answered = loss === undefined ? calls : sinceLoss(calls, loss);
  const told = nats === undefined ? withSequences(answered, logs) : answered;
  const verdict = checkHistory(hadErrors ? withoutDiskErrors(told) : told, logs, { staleMs, indexed });
  for (const { entries } of logs) world.trace.number(entries.length);
  world.note(JSON.stringify(verdict.checked));
  service.states.over(collections, logs);
  const { alarms, damages, quarantined } = service.logs;
  return [
    ...verdict.violations.map((violation) => describeViolation(violation)),
    ...crashesOf(service).map((crash) => `a process ended by itself: ${crash}`),
    ...service.findings,
    // A loss is told.
    ...(loss === undefined
      ? alarms.map((alarm) => `logged as an error: ${alarm}`)
      : judgeLoss(loss, collections, logs, quarantined)),
    ...(hasRot ? [] : damages.map((damage) => `no bit has rotted: ${damage}`)),
  ];
}
