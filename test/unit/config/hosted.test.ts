// Covers: package.json, .ci/, .github/, docs/decisions/
/**
 * Files for the host of the repository (CI, dependency bot, issue forms), the decision records, and the version that
 * several files repeat.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { parse } from 'yaml';
import { filesBelow, ROOT } from '../../support/sourceTree.js';

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const parsed = <T>(path: string): T => (path.endsWith('.json') ? JSON.parse(read(path)) : parse(read(path))) as T;

interface Workflow {
  readonly permissions: object;
  readonly jobs: {
    readonly test: {
      readonly 'timeout-minutes': number;
      readonly strategy: { readonly matrix: { readonly node: readonly string[] } };
      readonly steps: readonly { readonly run?: string }[];
    };
  };
}

interface Bot {
  readonly updates: readonly { readonly directory: string; readonly ignore?: readonly object[] }[];
}

describe('the version', () => {
  const { version, engines } = parsed<{ version: string; engines: { node: string } }>('package.json');

  it('is equal in the package, its lock file, the chart and the newest section of the changelog', () => {
    const lock = parsed<{ version: string; packages: Record<string, { version: string }> }>('package-lock.json');
    const chart = parsed<{ version: string; appVersion: string }>('deploy/helm/vouch/Chart.yaml');
    const [, newest] = /^## \[(\d[^\]]*)\] - \d{4}-\d\d-\d\d$/m.exec(read('CHANGELOG.md'))!;
    expect([lock.version, lock.packages['']!.version, chart.version, chart.appVersion, newest]).to.deep.equal(
      Array(5).fill(version),
    );
  });

  it('in .nvmrc is a Node that the package allows and the workflow runs', () => {
    const major = Number(read('.nvmrc'));
    expect(major).to.be.at.least(Number(/\d+/.exec(engines.node)![0]));
    expect(parsed<Workflow>('.github/workflows/ci.yml').jobs.test.strategy.matrix.node).to.include(String(major));
  });
});

describe('the hosting files', () => {
  it('run .ci/run with read permission only, for longer than its tests may take', () => {
    const { permissions, jobs } = parsed<Workflow>('.github/workflows/ci.yml');
    expect(permissions).to.deep.equal({ contents: 'read' });
    expect(jobs.test.steps.flatMap(({ run }) => run ?? [])).to.deep.equal(['.ci/run']);
    const [, seconds] = /^WITHIN_SECS=(\d+)$/m.exec(read('.ci/run'))!;
    expect(jobs.test['timeout-minutes'] * 60).to.be.above(Number(seconds));
  });

  it('update packages of existing folders, except those that the decision records pin', () => {
    const { updates } = parsed<Bot>('.github/dependabot.yml');
    expect(updates.filter(({ directory }) => !existsSync(join(ROOT, directory)))).to.deep.equal([]);
    const ignored = updates.flatMap(({ ignore = [] }) => ignore) as { 'dependency-name': string }[];
    expect(ignored.map((entry) => entry['dependency-name'])).to.include.members(['typia', 'typescript', 'nats']);
  });

  it('have templates that are valid YAML', () => {
    const forms = filesBelow('.github', '.yml');
    expect(forms.length).to.be.above(3);
    for (const path of forms) expect(parsed(path), path).to.be.an('object');
  });
});

describe('decision records', () => {
  const records = filesBelow('docs/decisions', '.md').filter((path) => /\/\d{4}-/.test(path));

  it('are numbered without a gap, and each is in the index', () => {
    const names = records.map((path) => path.split('/').at(-1)!);
    expect(names.map((name) => Number(name.slice(0, 4)))).to.deep.equal(names.map((_, i) => i + 1));
    const index = read('docs/decisions/README.md');
    expect(names.filter((name) => !index.includes(`](${name})`))).to.deep.equal([]);
  });

  it('have a context, a decision and consequences, in at most 60 lines', () => {
    for (const path of records) {
      const text = read(path);
      expect(
        [...text.matchAll(/^## (.+)$/gm)].map(([, title]) => title),
        path,
      ).to.deep.equal([...['Context', 'Decision', 'Consequences']]);
      expect(text.split('\n').length - 1, path).to.be.at.most(60);
    }
  });
});
