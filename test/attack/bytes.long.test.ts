/**
 * A client that sends as many bytes as it may: without a quota of bytes, the quota of records would let it fill the
 * machine.
 */
import { expect } from 'chai';
import { mapConcurrent } from '../../shared/scheduling/mapConcurrent.js';
import type { Answer } from '../support/launch/client.js';
import { inBothModes } from '../support/launch/modes.js';
import { PATIENCE_MS } from '../support/patience.js';

const REQUESTS = 10;
/** All requests send 1,000 records: 0.1 % of the quota of records, and 250 MiB with their log. */
const RECORDS = 100;
const DIMENSION = 32_768;
const QUOTA_BYTES = 100_000_000;
const RECORD_BYTES = 2 * 4 * DIMENSION;

inBothModes('records of the largest dimension', (_, { start }) => {
  it('end at the quota of bytes of their project, while another project writes and searches', async () => {
    const service = await start({
      VOUCH_MAX_BYTES: String(QUOTA_BYTES),
      VOUCH_DEADLINE_MS: String(PATIENCE_MS),
      VOUCH_MAX_QUEUE_WAIT_MS: String(PATIENCE_MS),
    });
    const [{ rw: attacker }, { rw: other }] = [await service.newProject(), await service.newProject()];
    for (const [rw, dimension] of [
      [attacker, DIMENSION],
      [other, 2],
    ] as const)
      await rw.post('/v1/namespaces', { name: 'c', dimension, metric: 'squared_l2' });
    const body = `{"collection":"c","batch":[${new Array(RECORDS).fill(`[${new Array(DIMENSION).fill(1).join()}]`).join()}]}`;

    let isOver = false;
    const others: Answer[] = [];
    const goingOn = (async () => {
      while (!isOver) {
        others.push(await other.post('/v1/records', { collection: 'c', values: [1, 2] }));
        others.push(await other.post('/v1/search', { collection: 'c', query: [1, 2], k: 1 }));
      }
    })();
    const requests = Array.from({ length: REQUESTS }, (_, n) => n);
    const answers = await mapConcurrent(requests, 2, () => attacker.raw('POST', '/v1/vectors/batch-insert', body));
    isOver = true;
    await goingOn;

    const taken = answers.filter(({ status }) => status === 200);
    const refused = answers.filter(({ status }) => status !== 200);
    expect(taken.length).to.equal(Math.floor(QUOTA_BYTES / (RECORDS * RECORD_BYTES)));
    expect(new Set(refused.map(({ status, body: { code } }) => `${status} ${code}`))).to.have.all.keys(
      '507 capacity_exceeded',
    );
    const { bytes, records } = (await attacker.get('/v1/usage')).body;
    expect(records).to.equal(RECORDS * taken.length);
    expect(bytes.total).to.be.within(QUOTA_BYTES - RECORDS * RECORD_BYTES, QUOTA_BYTES);
    expect(others.length).to.be.above(10);
    expect(others.filter(({ status }) => status !== 200)).to.deep.equal([]);
  });
});
