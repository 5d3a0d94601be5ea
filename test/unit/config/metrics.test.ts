// Covers: shared/metrics/table.ts, scripts/docs/metricsPage.ts, scripts/docs/dashboard.ts, docs/operations/metrics.md
// Covers: config/dashboard.json, config/alerts.yml
/** The table of metrics against its page, the dashboard, the alerts and the program. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { parse } from 'yaml';
import { dashboard } from '../../../scripts/docs/dashboard.js';
import { metricsPage } from '../../../scripts/docs/metricsPage.js';
import { GROUPS, type Metric } from '../../../shared/metrics/table.js';
import { readPages } from '../../support/pages.js';
import { filesBelow, ROOT } from '../../support/sourceTree.js';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const PROGRAM = ['coordinator', 'shard', 'shared'];
const TABLE = 'shared/metrics/table.ts';
const NAME = /\bvouch_[a-z_]+/g;
/** Suffixes that Prometheus adds to the name of a histogram. */
const SERIES = /_(?:bucket|sum|count)$/;
const DURATION = /^\d+[smhd]$/;

const METRICS = new Map(GROUPS.flatMap(({ metrics }) => Object.entries<Metric>(metrics)));

const rules = (): readonly Rule[] =>
  (parse(read('config/alerts.yml')) as { groups: { rules: Rule[] }[] }).groups.flatMap((group) => group.rules);

const namesIn = (text: string): string[] => [...text.matchAll(NAME)].map(([name]) => name);

describe('metrics', () => {
  it('are on their page as in the table', () => {
    expect(read('docs/operations/metrics.md'), 'npm run docs').to.equal(metricsPage());
    for (const [name, { type }] of METRICS) expect(metricsPage()).to.include(`| \`${name}\` | ${type} |`);
    expect(METRICS.size).to.be.above(60);
  });

  it('have one panel each on the dashboard', () => {
    expect(read('config/dashboard.json'), 'npm run docs').to.equal(dashboard());
    const { panels } = JSON.parse(dashboard()) as { panels: { type: string; title: string; id: number }[] };
    const shown = panels.filter(({ type }) => type === 'timeseries').map(({ title }) => title);
    expect(shown).to.deep.equal([...METRICS.keys()]);
    expect(new Set(panels.map(({ id }) => id)).size).to.equal(panels.length);
  });

  it('are in one group each, and the program writes all of them', () => {
    expect(METRICS.size).to.equal(GROUPS.flatMap(({ metrics }) => Object.keys(metrics)).length);
    const written = PROGRAM.flatMap((folder) => filesBelow(folder, '.ts'))
      .filter((path) => path !== TABLE)
      .flatMap((path) => namesIn(read(path)));
    expect([...METRICS.keys()].filter((name) => !written.includes(name))).to.deep.equal([]);
  });

  it('have their type and unit in their names', () => {
    for (const [name, { type }] of METRICS) {
      expect(name.endsWith('_total'), name).to.equal(type === 'counter');
      if (type === 'histogram') expect(name).to.match(/_seconds$/);
      expect(name).not.to.match(/_(?:ms|millis|kb|mb)(?:_|$)/);
    }
  });

  it('in pages and alerts all exist', () => {
    const spokenOf = [
      ...readPages().flatMap(({ text }) => namesIn(text)),
      ...rules().flatMap(({ expr }) => namesIn(expr)),
    ];
    // A page may name `vouch_follower_*` for all metrics with that prefix.
    const begins = (name: string): boolean =>
      name.endsWith('_') && [...METRICS.keys()].some((one) => one.startsWith(name));
    const unknown = spokenOf.filter(
      (name) => !METRICS.has(name) && !METRICS.has(name.replace(SERIES, '')) && !begins(name),
    );
    expect([...new Set(unknown)]).to.deep.equal([]);
  });
});

describe('alerts', () => {
  it('have unique names, a severity, a summary and a runbook', () => {
    const names = rules().map(({ alert }) => alert);
    expect(names.length).to.be.above(15);
    expect(new Set(names).size).to.equal(names.length);
    for (const { alert, labels, annotations, for: duration } of rules()) {
      expect(alert).to.match(/^Vouch[A-Z]\w+$/);
      expect(labels.severity, alert).to.be.oneOf(['page', 'ticket']);
      expect(annotations, alert).to.have.all.keys('summary', 'runbook');
      if (duration !== undefined) expect(duration, alert).to.match(DURATION);
    }
  });

  it('have expressions whose brackets and quotes are closed', () => {
    const closes: Readonly<Record<string, string>> = { ')': '(', ']': '[', '}': '{' };
    for (const { alert, expr } of rules()) {
      const open: string[] = [];
      for (const sign of expr.replaceAll(/"[^"]*"/g, '')) {
        expect(sign, alert).not.to.equal('"');
        if (sign in closes) expect(open.pop(), alert).to.equal(closes[sign]);
        else if (Object.values(closes).includes(sign)) open.push(sign);
      }
      expect(open, alert).to.deep.equal([]);
    }
  });
});
