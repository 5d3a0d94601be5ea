/** The deadlines and failures of a request for certificates of erasure. */
import { expect } from 'chai';
import { unavailable, VouchError } from '../../../../shared/errors/errors.js';
import type { Envelope } from '../../../../shared/transport/transport.js';
import { TestClock, TestEdge } from '../../../support/rigs/testEdge.js';

const KEYS = Array.from({ length: 100 }, (_, i) => i.toString(16).padStart(32, '0'));
const DEADLINE_MS = 1_000;

describe('a request for certificates of many keys', () => {
  let edge: TestEdge;
  let clock: TestClock;
  /** Time that a server of the vault takes for a key. */
  let settledMs: number;

  beforeEach(async () => {
    clock = new TestClock();
    edge = await TestEdge.start({ limits: { deadlineMs: DEADLINE_MS, rebuildMs: 60_000 } }, { clock });
    for (const keyId of KEYS)
      await edge.backend.keys.create('p', keyId, {
        status: 'shredded',
        wrapped: null,
        collectionIds: [],
        pendingIds: [],
      });
    Object.assign(edge.backend.keyEntries, {
      settle: async (_project: string, _keyId: string, { deadlineMs }: Envelope) => {
        clock.advance(settledMs);
        if (clock.nowMs() > deadlineMs) throw unavailable('the vault did not answer before the deadline');
      },
    });
  });
  afterEach(() => edge.stop());

  const erase = async () => (await (await edge.client()).post('/v1/erasures', { key_ids: KEYS })).body;

  it('certifies all of them, if each takes less than the deadline', async () => {
    settledMs = DEADLINE_MS / 20;
    const { certificates, partial_failures } = await erase();
    expect(partial_failures).to.equal(undefined);
    expect(certificates).to.have.length(KEYS.length);
  });

  it('fails for all that are left, once one takes longer', async () => {
    settledMs = 2 * DEADLINE_MS;
    const { certificates, partial_failures } = await erase();
    expect(certificates).to.have.length(0);
    expect(partial_failures).to.have.length(KEYS.length);
    expect(new Set((partial_failures as { code: string }[]).map(({ code }) => code))).to.deep.equal(
      new Set(['unavailable']),
    );
  });

  it('certifies the keys of a collection that is deleted meanwhile', async () => {
    settledMs = 0;
    const [one] = KEYS as [string];
    const { backend } = edge;
    for (const op of ['countUnderKeys', 'shredKey', 'erasures'] as const) {
      const { id } = (await backend.create('p', { name: op, dimension: 1, index: 'brute' })).collection;
      backend.keys.lose('p', one);
      const active = { status: 'active', wrapped: new Uint8Array(60), collectionIds: [id], pendingIds: [] } as const;
      await backend.keys.create('p', one, active);
      backend.beforeCall = async (_collection, call) => {
        if (call.op === op) await backend.remove('p', op);
      };
      backend.answer = (_collection, call) =>
        call.op === 'countUnderKeys' ? { count: 1 } : call.op === 'shredKey' ? { sequence: 1 } : undefined;
      const { certificates, partial_failures } = await erase();
      expect(partial_failures, op).to.equal(undefined);
      expect(certificates[0], op).to.include({ key_id: one }).and.deep.include({ collections: [] });
    }
  });

  it('fails only for the keys of a collection that does not answer, and leaves them', async () => {
    settledMs = 0;
    const [broken, ...whole] = KEYS as [string, ...string[]];
    const { id } = (await edge.backend.create('p', { name: 'c', dimension: 1, index: 'brute' })).collection;
    edge.backend.keys.lose('p', broken);
    const active = { status: 'active', wrapped: new Uint8Array(60), collectionIds: [id], pendingIds: [] } as const;
    await edge.backend.keys.create('p', broken, active);
    edge.backend.beforeCall = () => {
      throw new VouchError('internal_error', 'collection "c" is quarantined');
    };
    const { certificates, partial_failures } = await erase();
    expect(certificates).to.have.length(whole.length);
    expect(partial_failures).to.deep.equal([
      { key_id: broken, code: 'internal_error', error: 'collection "c" is quarantined' },
    ]);
    expect(edge.backend.keys.peek('p', broken)?.status).to.equal('active');
  });
});
