/** Samples in Prometheus' text, compared with that of prom-client. */
import { expect } from 'chai';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { Amounts, DurationHistogram, labelsText } from '../../../../shared/metrics/samples.js';

describe('the text of a metric', () => {
  const help = 'two\nlines \\';
  const labelNames = ['op', 'status'];
  const shared = labelsText(['shard'], { shard: 's"1' });
  const reference = (): Registry => {
    const registry = new Registry();
    registry.setDefaultLabels({ shard: 's"1' });
    return registry;
  };

  it('shows a counter with labels like prom-client', async () => {
    const registry = reference();
    const expected = new Counter({ name: 'a_total', help, labelNames, registers: [registry] });
    const counter = new Amounts({ name: 'a_total', type: 'counter', help, labelNames }, shared);
    expect(counter.text()).to.equal(await registry.getSingleMetricAsString('a_total'));
    for (const [op, status, by] of [
      ['b', 200, 1],
      ['"\\\n', 200, 0.5],
      ['b', 503, 2],
      ['b', 200, 7],
    ] as const) {
      expected.inc({ op, status }, by);
      counter.add({ status, op }, by);
    }
    expect(counter.text()).to.equal(await registry.getSingleMetricAsString('a_total'));
  });

  it('shows a gauge without labels like prom-client, from the start', async () => {
    const registry = reference();
    const expected = new Gauge({ name: 'b', help, registers: [registry] });
    const gauge = new Amounts({ name: 'b', type: 'gauge', help, labelNames: [] }, shared);
    expect(gauge.text()).to.equal(await registry.getSingleMetricAsString('b'));
    for (const value of [-1.5, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 1e21]) {
      expected.set(value);
      gauge.set(undefined, value);
      expect(gauge.text()).to.equal(await registry.getSingleMetricAsString('b'));
    }
  });

  it('shows a histogram like prom-client, each bound in its bucket', async () => {
    const registry = reference();
    const buckets = [0.0002, 0.5, 10];
    const expected = new Histogram({ name: 'c_seconds', help, labelNames: ['op'], buckets, registers: [registry] });
    const head = { name: 'c_seconds', type: 'histogram', help, labelNames: ['op'] } as const;
    const histogram = new DurationHistogram(head, shared, buckets);
    for (const [op, seconds] of [
      ['x', 0.0002],
      ['x', 0.3],
      ['y', 10],
      ['x', 10.5],
      ['x', 0],
    ] as const) {
      expected.observe({ op }, seconds);
      histogram.observe({ op }, seconds);
    }
    expect(histogram.text()).to.equal(await registry.getSingleMetricAsString('c_seconds'));
  });
});
