/** The announcement of an import whose collection is deleted meanwhile. */
import { expect } from 'chai';
import { refusal } from '../../../../shared/errors/errors.js';
import { TestEdge } from '../../../support/rigs/testEdge.js';

const HASH = '0'.repeat(64);

describe('the announcement of an import', () => {
  let edge: TestEdge;
  beforeEach(async () => {
    edge = await TestEdge.start();
  });
  afterEach(() => edge.stop());

  it('is 503 with the advice to retry if another coordinator deletes its collection meanwhile', async () => {
    const { backend } = edge;
    const { collection } = await backend.create('p', { name: 'c', dimension: 1, index: 'brute' });
    const imported = { sequence: 1, chainHead: HASH, stateHash: HASH, finished: false };
    Object.assign(backend, { beginImport: async () => ({ collection: { ...collection, imported }, created: true }) });
    backend.beforeCall = () => {
      throw refusal('collection_not_found', 'named', { name: '"c"' });
    };
    const origin = { project: 'p', name: 'c', id: 1 };
    const end = { sequence: 1, chain_head: HASH, state_hash: HASH };
    const announced = { origin, dimension: 1, metric: 'squared_l2', created_at_ms: 0, ...end };
    const { status, body } = await (await edge.client()).post('/v1/import', announced);
    expect([status, body.error]).to.deep.equal([
      503,
      'collection "c" was deleted before this request had set it up; retry',
    ]);
  });
});
