/** The metrics and the alerts, checked by Prometheus' own tool `promtool`. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { queriesOf } from '../../scripts/docs/dashboard.js';
import { GROUPS, type Metric } from '../../shared/metrics/table.js';
import { findTool, runTool } from '../support/launch/foreignTool.js';
import { Service } from '../support/launch/service.js';
import { skip } from '../support/skip.js';
import { ROOT } from '../support/sourceTree.js';

describe('promtool', () => {
  let promtool: string;

  before(function () {
    const found = findTool('promtool');
    if (found === undefined) skip(this, 'promtool is not installed (package prometheus)');
    promtool = found;
  });

  for (const mode of ['cluster', 'standalone'] as const)
    it(`accepts the metrics of a service (${mode})`, async () => {
      const service = await Service.start(mode);
      try {
        const { rw } = await service.newProject();
        await rw.post('/v1/namespaces', { name: 'c', dimension: 1, metric: 'squared_l2' });
        await rw.post('/v1/records', { collection: 'c', values: [1] });
        const { code, output } = await runTool(promtool, ['check', 'metrics'], await service.metrics());
        expect([code, output]).to.deep.equal([0, '']);
      } finally {
        await service.stop();
      }
    });

  it('accepts the alerts', async () => {
    const { code, output } = await runTool(promtool, ['check', 'rules', join(ROOT, 'config/alerts.yml')]);
    expect(code, output).to.equal(0);
    expect(output).to.match(/SUCCESS: \d+ rules found/);
  });

  it('accepts every query of the dashboard', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'vouch-test-'));
    try {
      const rules = GROUPS.flatMap(({ metrics }) => Object.entries<Metric>(metrics))
        .flatMap(([name, metric]) => queriesOf(name, metric, true))
        .map(({ expr }, i) => ({ record: `q:${i}`, expr: expr.replaceAll('$__rate_interval', '5m') }));
      const path = join(folder, 'rules.yml');
      // JSON is also YAML.
      await writeFile(path, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }));
      const { code, output } = await runTool(promtool, ['check', 'rules', path]);
      expect(code, output).to.equal(0);
      expect(output).to.include(`${rules.length} rules found`);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
