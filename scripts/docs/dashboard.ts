/** The dashboard of Grafana, made from the table of metrics: a row for each subject, a panel for each metric. */
import { GROUPS, type Group, type Metric } from '../../shared/metrics/table.js';

/** Size of a panel in Grafana's grid. */
const PANEL = { width: 8, height: 7 };
const GRID_WIDTH = 24;
const SCHEMA_VERSION = 39;
const QUANTILES = [0.5, 0.99];
const DATASOURCE = { type: 'prometheus', uid: '$datasource' };
/** Selects the job of `config/alerts.yml`. Metrics of shards also have the label `shard`. */
const CHOSEN = 'job="vouch"';
const RANGE = '[$__rate_interval]';

export interface Query {
  readonly expr: string;
  readonly legend: string;
}

/** The queries of a metric: rates of counters, quantiles of histograms, values of gauges. */
export function queriesOf(name: string, { type, labels }: Metric, perShard: boolean): Query[] {
  const by = [...(perShard ? ['shard'] : []), ...Object.keys(labels)];
  const legend = by.map((label) => `{{${label}}}`).join(' ');
  const grouped = by.length === 0 ? 'sum' : `sum by (${by.join(', ')})`;
  switch (type) {
    case 'counter':
      return [{ expr: `${grouped} (rate(${name}{${CHOSEN}}${RANGE}))`, legend }];
    case 'gauge':
      return [{ expr: `${name}{${CHOSEN}}`, legend: `{{instance}} ${legend}`.trim() }];
    case 'histogram':
      return QUANTILES.map((quantile) => ({
        expr: `histogram_quantile(${quantile}, sum by (le) (rate(${name}_bucket{${CHOSEN}}${RANGE})))`,
        legend: `quantile ${quantile}`,
      }));
  }
}

function unitOf(name: string, type: Metric['type']): string {
  const isRate = type === 'counter';
  if (/_bytes(?:_|$)/.test(name)) return isRate ? 'Bps' : 'bytes';
  if (/_(?:timestamp|expires)_seconds$/.test(name)) return 'dateTimeAsIso';
  if (/_seconds(?:_|$)/.test(name)) return isRate ? 'percentunit' : 's';
  return isRate ? 'ops' : 'short';
}

const lettered = (index: number): string => String.fromCharCode('A'.charCodeAt(0) + index);

const panelOf = (name: string, metric: Metric, perShard: boolean) => ({
  type: 'timeseries',
  title: name,
  description: metric.help,
  datasource: DATASOURCE,
  fieldConfig: { defaults: { unit: unitOf(name, metric.type) }, overrides: [] },
  targets: queriesOf(name, metric, perShard).map(({ expr, legend }, i) => ({
    ...{ refId: lettered(i), datasource: DATASOURCE, expr, legendFormat: legend },
  })),
});

/** The panels of all groups, each below the previous ones. */
function panels(): object[] {
  const placed: object[] = [];
  let y = 0;
  for (const { title, at, metrics } of GROUPS as readonly Group[]) {
    placed.push({
      id: placed.length + 1,
      type: 'row',
      title,
      collapsed: false,
      panels: [],
      gridPos: across(y, GRID_WIDTH),
    });
    y += 1;
    const entries = Object.entries(metrics);
    const perRow = GRID_WIDTH / PANEL.width;
    for (const [i, [name, metric]] of entries.entries())
      placed.push({
        id: placed.length + 1,
        ...panelOf(name, metric, at.includes('shard')),
        gridPos: {
          ...{ x: (i % perRow) * PANEL.width, y: y + Math.floor(i / perRow) * PANEL.height },
          ...{ w: PANEL.width, h: PANEL.height },
        },
      });
    y += Math.ceil(entries.length / perRow) * PANEL.height;
  }
  return placed;
}

const across = (y: number, w: number) => ({ x: 0, y, w, h: 1 });

/** The text of `config/dashboard.json`. */
export const dashboard = (): string =>
  `${JSON.stringify(
    {
      uid: 'vouch',
      title: 'Vouch',
      schemaVersion: SCHEMA_VERSION,
      editable: true,
      time: { from: 'now-1h', to: 'now' },
      refresh: '30s',
      templating: { list: [{ name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' }] },
      panels: panels(),
    },
    null,
    1,
  )}\n`;
