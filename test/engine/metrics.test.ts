/** Metrics are what the list of them says, and alerts and the README speak of none that does not exist. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { expect } from 'chai';
import { filesBelow, ROOT } from '../support/sourceTree.js';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

// mocha brings a YAML parser for its own configuration.
const yaml = createRequire(createRequire(import.meta.url).resolve('mocha/package.json'))('js-yaml') as {
  load(text: string): unknown;
};
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const PROGRAM = ['coordinator', 'shard', 'shared'];
const NAME = /\bvouch_[a-z_]+/g;
/** What Prometheus makes of a histogram. */
const SERIES = /_(?:bucket|sum|count)$/;
const TYPES = ['counter', 'gauge', 'histogram'] as const;
type Type = (typeof TYPES)[number];
const DURATION = /^\d+[smhd]$/;

/** Name → type, of every metric that the program makes; some are made by a function `gauge` or `histogram`. */
function made(): Map<string, Type> {
  const found = new Map<string, Type>();
  for (const path of PROGRAM.flatMap((folder) => filesBelow(folder, '.ts'))) {
    const source = read(path);
    for (const [, name] of source.matchAll(/'(vouch_[a-z_]+)'/g)) found.set(name!, 'gauge');
    const typed = /(?:new (Counter|Histogram)\(\{\s*name: |\b(histogram)\()'(vouch_[a-z_]+)'/g;
    for (const [, kind, by, name] of source.matchAll(typed)) found.set(name!, (kind ?? by)!.toLowerCase() as Type);
  }
  return found;
}

/** The rows of the tables. */
function listed(): Map<string, Type> {
  const rows = [...read('config/METRICS.md').matchAll(/^\| `(vouch_[a-z_]+)` \| (\w+) \|/gm)];
  return new Map(rows.map(([, name, type]) => [name!, type as Type]));
}

const rules = (): readonly Rule[] =>
  (yaml.load(read('config/alerts.yml')) as { groups: { rules: Rule[] }[] }).groups.flatMap((group) => group.rules);

const namesIn = (text: string): string[] => [...text.matchAll(NAME)].map(([name]) => name);

describe('metrics', () => {
  it('are all listed, with their types, and no others', () => {
    const sorted = (metrics: Map<string, Type>) => [...metrics].sort(([a], [b]) => (a < b ? -1 : 1));
    expect(sorted(listed())).to.deep.equal(sorted(made()));
    expect(made().size).to.be.above(60);
  });

  it('have names that tell their units', () => {
    for (const [name, type] of made()) {
      expect(name.endsWith('_total'), name).to.equal(type === 'counter');
      if (type === 'histogram') expect(name).to.match(/_seconds$/);
      expect(name).not.to.match(/_(?:ms|millis|kb|mb)(?:_|$)/);
    }
  });

  it('that the README and the alerts speak of exist', () => {
    const known = made();
    const spokenOf = [...namesIn(read('README.md')), ...rules().flatMap(({ expr }) => namesIn(expr))];
    // `vouch_follower_*` speaks of all that begin so.
    const begins = (name: string): boolean =>
      name.endsWith('_') && [...known.keys()].some((one) => one.startsWith(name));
    const unknown = spokenOf.filter(
      (name) => !known.has(name) && !known.has(name.replace(SERIES, '')) && !begins(name),
    );
    expect([...new Set(unknown)]).to.deep.equal([]);
  });
});

describe('alerts', () => {
  it('each have a name of their own, a severity, and say what is wrong and what to do', () => {
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

  it('have expressions whose brackets and quotes close', () => {
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
