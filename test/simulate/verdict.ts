/** Judges a simulated service: the soak's checker over its answers, its log lines, and how its processes ended. */
import type { AskedRead } from '../soak/access/askedReads.js';
import { type CheckOptions, checkHistory } from '../soak/checker/check.js';
import type { CollectionLog } from '../soak/checker/log.js';
import { describeViolation } from '../soak/checker/violations.js';
import type { Call } from '../soak/history.js';
import type { LogOf } from '../soak/readLogs.js';
import type { SimulatedShape } from './cluster/shape.js';
import { crashesOf, type Loss, type SimulatedService } from './cluster/simulatedService.js';
import { withoutDiskErrors, withoutRot, withSequences } from './judge.js';
import { judgeAccess } from './judges/accessJudge.js';
import { judgeLoss, logsBefore, sinceLoss, untilLoss } from './judges/sinceLoss.js';

export interface Judged {
  readonly service: SimulatedService;
  readonly shape: SimulatedShape;
  readonly collections: readonly LogOf[];
  readonly calls: readonly Call[];
  /** Reads of collections with an access log. */
  readonly reads: readonly AskedRead[];
  /** Whether a disk was full or failed, so that an answer may name a disk error. */
  readonly hadErrors: boolean;
  /** Whether bits have rotted. */
  readonly hasRot: boolean;
}

/**
 * Milliseconds within which the leader of the service log compares the log with what was published. For a while there
 * may be no coordinator, or none that lasts.
 */
const REPORTED_WITHIN_MS = 60_000;

/** A shard's file covers more than its log, which has lost its end and may have continued differently since. */
const AHEAD = /it covers \d+ events, and the log has \d+|it does not belong to the log/;

/** Returns every violation; empty if all is well. */
export async function verdictOn(judged: Judged): Promise<string[]> {
  const { service, shape, collections, hadErrors, hasRot } = judged;
  const calls = service.states.quota?.judged(judged.calls) ?? judged.calls;
  const { world, nats } = service;
  const logs = await service.readLogs(collections, calls);
  const indexed = new Map(
    shape.collections.flatMap(({ name, index }) => (index === 'none' ? [] : [[name, 'none'] as const])),
  );
  const options: CheckOptions = { staleMs: Number(shape.settings.VOUCH_FOLLOWERS_STALE_MS), indexed };
  const loss = nats?.loss;
  const answered = loss === undefined ? calls : sinceLoss(calls, loss);
  const sequenced = nats === undefined ? withSequences(answered, logs) : answered;
  const check = (asked: readonly Call[], read: readonly CollectionLog[]) => {
    const whole = hadErrors ? withoutDiskErrors(asked) : asked;
    return checkHistory(hasRot ? withoutRot(whole) : whole, read, options);
  };
  const verdict = check(sequenced, logs);
  for (const { entries } of logs) world.trace.number(entries.length);
  world.note(JSON.stringify(verdict.checked));
  service.states.over(collections, logs);
  const audited = new Map(
    shape.collections.flatMap(({ name, auditReads, accessRetentionDays = Number.POSITIVE_INFINITY }) =>
      auditReads ? [[name, accessRetentionDays] as const] : [],
    ),
  );
  const access = await judgeAccess(
    service,
    collections.flatMap((each) => {
      const retentionDays = audited.get(each.name);
      return retentionDays === undefined ? [] : [{ ...each, retentionDays }];
    }),
    judged.reads,
  );
  const { alarms, damages, quarantined } = service.logs;
  const ages = [...service.coordinators.keys()].map((name) => service.processes.get(name)?.ageMs ?? 0);
  const leadsForMs = Math.max(0, ...ages);
  const lossOn = async (lost: Loss): Promise<string[]> => {
    const asked = untilLoss(calls, lost);
    const before = check(asked, await logsBefore(lost, collections, asked, logs));
    return [
      ...before.violations.map((violation) => `before the servers lost their power: ${describeViolation(violation)}`),
      ...judgeLoss(lost, collections, logs, quarantined),
      ...(lost.isRolledBack &&
      !service.logs.isRolledBack &&
      Math.min(world.nowMs - lost.atMs, leadsForMs) > REPORTED_WITHIN_MS
        ? ['the service log has lost entries that were published, and no coordinator reports it']
        : []),
    ];
  };
  return [
    ...verdict.violations.map((violation) => describeViolation(violation)),
    ...access,
    ...crashesOf(service).map((crash) => `a process ended by itself: ${crash}`),
    ...service.findings,
    // The loss itself must be reported as an error.
    ...alarms
      .filter(({ atMs }) => loss === undefined || atMs < loss.atMs)
      .map(({ line }) => `logged as an error: ${line}`),
    ...(loss === undefined ? [] : await lossOn(loss)),
    ...damages
      .filter((damage) => !hasRot && !(loss !== undefined && AHEAD.test(damage)))
      .map((damage) => `no bit has rotted: ${damage}`),
  ];
}
