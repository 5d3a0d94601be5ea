// Covers: shared/metrics/metricsText.ts
/** The metrics of a process: counted by name, read on request. */
import { expect } from 'chai';
import { Metrics } from '../../../../shared/metrics/metrics.js';
import { samplesNamed } from '../../../support/launch/metricSamples.js';

describe('the metrics of a process', () => {
  const values = async (metrics: Metrics, name: string): Promise<unknown[]> =>
    samplesNamed(name, await metrics.texts()).map(({ labels, value }) => [labels, value]);

  it('count by name, with the labels of the table', async () => {
    const metrics = new Metrics('coordinator');
    metrics.count('vouch_http_body_bytes_total');
    metrics.count('vouch_http_body_bytes_total', 41);
    metrics.count('vouch_eventual_reads_total', { by: 'follower' });
    metrics.count('vouch_eventual_reads_total', { by: 'follower' }, 2);
    metrics.count('vouch_eventual_reads_total', { by: 'owner' });
    // @ts-expect-error: only a follower or the owner answers such reads.
    metrics.count('vouch_eventual_reads_total', { by: 'unknown' });
    // @ts-expect-error: a gauge is not a counter.
    expect(() => metrics.count('vouch_http_in_flight')).to.throw();
    expect(await values(metrics, 'vouch_http_body_bytes_total')).to.deep.equal([[{}, 42]]);
    expect(await values(metrics, 'vouch_eventual_reads_total')).to.deep.equal([
      [{ by: 'follower' }, 3],
      [{ by: 'owner' }, 1],
      [{ by: 'unknown' }, 1],
    ]);
  });

  it('observe durations in the buckets of the table', async () => {
    const metrics = new Metrics('shard');
    metrics.observe('vouch_commit_seconds', 0.003);
    metrics.observe('vouch_snapshot_seconds', { outcome: 'done' }, 2);
    metrics.startTimer('vouch_index_load_seconds')({ kind: 'ivf', outcome: 'active' });
    expect(await values(metrics, 'vouch_commit_seconds_sum')).to.deep.equal([[{}, 0.003]]);
    const buckets = samplesNamed('vouch_commit_seconds_bucket', await metrics.texts());
    expect(buckets.filter(({ value }) => value === 1)[0]!.labels).to.deep.equal({ le: '0.005' });
    expect(await values(metrics, 'vouch_snapshot_seconds_sum')).to.deep.equal([[{ outcome: 'done' }, 2]]);
    const loaded = await values(metrics, 'vouch_index_load_seconds_count');
    expect(loaded).to.deep.equal([[{ kind: 'ivf', outcome: 'active' }, 1]]);
  });

  it('read gauges and totals when they are requested', async () => {
    const metrics = new Metrics('shard');
    let records = 1;
    metrics.gauges(() => ({
      vouch_records: records,
      vouch_collections_followed: { idle: records, opening: 0, following: 0, diverged: 0 },
    }));
    metrics.onRead(() => metrics.count('vouch_feed_frames_total', { way: 'sent' }, records));
    records = 5;
    expect(await values(metrics, 'vouch_records')).to.deep.equal([[{}, 5]]);
    records = 7;
    expect(await values(metrics, 'vouch_collections_followed')).to.deep.include([{ state: 'idle' }, 7]);
    expect(await values(metrics, 'vouch_feed_frames_total')).to.deep.equal([[{ way: 'sent' }, 19]]);
    metrics.change('vouch_writes_waiting', 3);
    metrics.change('vouch_writes_waiting', -1);
    metrics.set('vouch_as_of_cache_bytes', 9);
    expect(await values(metrics, 'vouch_writes_waiting')).to.deep.equal([[{}, 2]]);
    expect(await values(metrics, 'vouch_as_of_cache_bytes')).to.deep.equal([[{}, 9]]);
  });

  it("are those of its kind of process, and a shard's metrics carry its name", async () => {
    const names = async (metrics: Metrics): Promise<string[]> => (await metrics.texts()).map(({ name }) => name);
    const coordinator = await names(new Metrics('coordinator'));
    const shard = await names(new Metrics('shard'));
    expect(coordinator).to.include.members(['vouch_shards', 'vouch_refused_total']).and.not.include('vouch_records');
    expect(shard).to.include.members(['vouch_records', 'vouch_refused_total']).and.not.include('vouch_shards');
    expect(await values(new Metrics('shard', 's1'), 'vouch_records')).to.deep.equal([[{ shard: 's1' }, 0]]);
  });
});
