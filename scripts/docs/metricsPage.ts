import { GROUPS, type Group, type Metric } from '../../shared/metrics/table.js';

const INTRODUCTION =
  'Every coordinator serves these at `/metrics` in the text format of Prometheus: its own, and those of all shards with the ' +
  'label `shard`. Counters start at 0 with each process; times are in seconds, sizes in bytes.';

/** The text of `docs/operations/metrics.md`. */
export const metricsPage = (): string => `# Metrics\n\n${INTRODUCTION}\n\n${GROUPS.map(section).join('\n')}`;

const section = ({ title, at, metrics }: Group): string =>
  [
    `## ${title} (${at.join(' and ')})`,
    '',
    '| metric | type | labels | meaning |',
    '|---|---|---|---|',
    ...Object.entries(metrics).map(row),
    '',
  ].join('\n');

const row = ([name, { type, labels, help }]: [string, Metric]): string =>
  `| \`${name}\` | ${type} | ${labelsCell(labels)} | ${help} |`;

const labelsCell = (labels: Metric['labels']): string =>
  Object.entries(labels)
    .map(([name, values]) => `\`${name}\`${values.length === 0 ? '' : `: ${values.join(', ')}`}`)
    .join('; ');
