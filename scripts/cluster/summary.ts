/** The cluster in one line, for where there is no terminal to draw on. */
import { count, millis, rate } from './figures.js';
import type { ClusterSnapshot } from './snapshot.js';

export function summaryOf({ servers, coordinators, shards, moves }: ClusterSnapshot): string {
  const up = (parts: readonly { readonly pid: unknown }[]): string =>
    `${parts.filter(({ pid }) => pid !== undefined).length}/${parts.length}`;
  const sum = (values: readonly (number | undefined)[]): number | undefined =>
    values.reduce((total, value) => (value === undefined ? total : (total ?? 0) + value), undefined);
  const slowest = coordinators.reduce<number | undefined>(
    (most, { p99Ms }) => (p99Ms === undefined ? most : Math.max(most ?? 0, p99Ms)),
    undefined,
  );
  const leader = coordinators.find(({ leadsPlacement }) => leadsPlacement)?.name ?? 'nobody';
  return [
    `up: nats ${up(servers)}, coordinators ${up(coordinators)} (${leader} leads), shards ${up(shards)}`,
    `${count(sum(shards.map(({ owned }) => owned)))} collections, ${count(sum(shards.map(({ records }) => records)))} records`,
    `${rate(sum(coordinators.map(({ requestsPerSecond }) => requestsPerSecond)))} requests/s`,
    `p99 ${millis(slowest)} ms`,
    `${rate(sum(coordinators.map(({ refusedPerSecond }) => refusedPerSecond)))} refused/s`,
    ...(moves.length > 0 ? [`${moves.length} moves`] : []),
  ].join('; ');
}
