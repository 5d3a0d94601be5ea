// Covers: coordinator/handlers/projectHold.ts
/** The rebuild of a project: its hold on the writes, and the release on every path. */
import { expect } from 'chai';
import { HOLD_TIMES, ProjectHold } from '../../../../coordinator/handlers/projectHold.js';
import { systemClock } from '../../../../shared/clock.js';
import { unavailable, VouchError } from '../../../../shared/errors/errors.js';
import { silentLogger } from '../../../../shared/logger.js';
import type { Call } from '../../../../shared/protocol/calls.js';
import { eventually, expectCode, gate } from '../../../support/expectations.js';
import { soon } from '../../../support/rigs/engine.js';
import { FakeBackend } from '../../../support/rigs/fakeBackend.js';
import { TestEdge } from '../../../support/rigs/testEdge.js';

const NAMES = ['a', 'b', 'c'];
const FREE = { a: undefined, b: undefined, c: undefined };
const ofOp = <O extends Call['op']>(calls: readonly Call[], op: O) =>
  calls.filter((call): call is Extract<Call, { op: O }> => call.op === op);

describe('the rebuild of a project', () => {
  let edge: TestEdge;
  beforeEach(async () => {
    edge = await TestEdge.start({ limits: { deadlineMs: 5_000, rebuildMs: 60_000 } });
    for (const name of NAMES) await edge.backend.create('p', { name, dimension: 1, index: 'brute' });
    await edge.backend.create('q', { name: 'other', dimension: 1, index: 'brute' });
  });
  afterEach(() => edge.stop());

  it('holds every collection by one token, rebuilds each, and releases all before it answers', async () => {
    const rw = await edge.client();
    const answer = await rw.post('/v1/index/rebuild', {});
    expect(answer.body).to.deep.equal({ ok: true, effective: 'rebuilt', records: 0 });
    const ops = edge.backend.calls.map(({ op }) => op);
    const each = (op: string) => NAMES.map(() => op);
    expect(ops).to.deep.equal([...each('hold'), ...each('rebuild'), ...each('release')]);
    expect(new Set(ofOp(edge.backend.calls, 'hold').map(({ token }) => token)).size).to.equal(1);
    expect(edge.backend.holders()).to.include(FREE);
    await rw.post('/v1/index/rebuild', {});
    expect(new Set(ofOp(edge.backend.calls, 'hold').map(({ token }) => token)).size, 'a token each').to.equal(2);
  });

  it('asks for the named kind, and answers with the name as sent', async () => {
    const rw = await edge.client();
    const kinds = {
      brute: 'brute',
      bruteforce: 'brute',
      hnsw: 'hnsw',
      ivf: 'ivf',
      bq: 'bq',
      auto: 'auto',
      mstg: 'auto',
    };
    for (const [index, kind] of Object.entries(kinds)) {
      expect((await rw.post('/v1/index/rebuild', { index })).body).to.deep.include({ ok: true, effective: index });
      expect(ofOp(edge.backend.calls, 'rebuild').at(-1)).to.deep.equal({ op: 'rebuild', kind });
    }
    for (const body of [{}, { index: null }]) {
      expect((await rw.post('/v1/index/rebuild', body)).body.effective).to.equal('rebuilt');
      expect(ofOp(edge.backend.calls, 'rebuild').at(-1)).to.deep.equal({ op: 'rebuild', kind: null });
    }
  });

  it('is refused with 409 while another runs, which is not disturbed', async () => {
    const rw = await edge.client();
    const slow = gate();
    edge.backend.beforeCall = ({ project }, { op }) => (project === 'p' && op === 'rebuild' ? slow.opened : undefined);
    const first = rw.post('/v1/index/rebuild', {});
    await eventually(
      'every collection is asked to rebuild',
      () => ofOp(edge.backend.calls, 'rebuild').length === NAMES.length,
    );
    const holders = edge.backend.holders();
    const second = await rw.post('/v1/index/rebuild', {});
    expect([second.status, second.body.code]).to.deep.equal([409, 'conflict']);
    expect(edge.backend.holders()).to.deep.equal(holders);
    expect((await (await edge.client('read_write', 'q')).post('/v1/index/rebuild', {})).status).to.equal(200);
    slow.open();
    expect((await first).status).to.equal(200);
    expect(edge.backend.holders()).to.include(FREE);
    expect(ofOp(edge.backend.calls, 'rebuild')).to.have.length(NAMES.length + 1);
  });

  it('succeeds one after another or is refused with 409 if many are requested at once', async () => {
    const rw = await edge.client();
    const answers = await Promise.all(NAMES.flatMap(() => NAMES.map(() => rw.post('/v1/index/rebuild', {}))));
    for (const { status } of answers) expect(status).to.be.oneOf([200, 409]);
    expect(answers.filter(({ status }) => status === 200)).to.have.length.above(0);
    expect(edge.backend.holders()).to.include(FREE);
  });

  it('reports a collection that fails, rebuilds the others, and releases all', async () => {
    const rw = await edge.client();
    edge.backend.beforeCall = ({ name }, { op }) => {
      if (name === 'b' && op === 'rebuild') throw new VouchError('internal_error', 'collection "b" is quarantined');
    };
    const answer = await rw.post('/v1/index/rebuild', {});
    expect([answer.status, answer.body.code]).to.deep.equal([500, 'internal_error']);
    expect(answer.body.error).to.include('"b" is quarantined');
    expect(ofOp(edge.backend.calls, 'rebuild')).to.have.length(NAMES.length);
    expect(edge.backend.holders()).to.include(FREE);
  });

  it('rebuilds nothing and releases all if one collection cannot be put on hold', async () => {
    const rw = await edge.client();
    for (const name of NAMES) {
      edge.backend.beforeCall = (collection, { op }) => {
        if (collection.name === name && op === 'hold') throw unavailable('its shard is gone');
      };
      const answer = await rw.post('/v1/index/rebuild', {});
      expect([answer.status, answer.body.code]).to.deep.equal([503, 'unavailable']);
      expect(edge.backend.holders()).to.include(FREE);
    }
    expect(ofOp(edge.backend.calls, 'rebuild')).to.deep.equal([]);
  });

  it('succeeds, and releases the others, if one release fails', async () => {
    const rw = await edge.client();
    edge.backend.beforeCall = ({ name }, { op }) => {
      if (name === 'a' && op === 'release') throw unavailable('its shard is gone');
    };
    expect((await rw.post('/v1/index/rebuild', {})).status).to.equal(200);
    expect(edge.backend.holders()).to.deep.include({ b: undefined, c: undefined });
  });

  it('tolerates collections that are created or dropped meanwhile', async () => {
    const rw = await edge.client();
    const slow = gate();
    edge.backend.beforeCall = async ({ name }, { op }) => {
      if (op === 'hold' && name === 'b') await edge.backend.remove('p', 'b');
      if (op === 'rebuild') await slow.opened;
      if (op === 'rebuild' && name === 'c') throw unavailable('the collection is being erased');
    };
    const rebuilt = rw.post('/v1/index/rebuild', {});
    await eventually('every collection is asked to rebuild', () => ofOp(edge.backend.calls, 'rebuild').length === 2);
    await edge.backend.create('p', { name: 'new', dimension: 1, index: 'brute' });
    expect((await rw.post('/v1/records', { collection: 'new', values: [1] })).status).to.equal(200);
    await rw.post('/v1/records', { collection: 'a', values: [1] });
    await edge.backend.remove('p', 'c');
    slow.open();
    expect((await rebuilt).body).to.deep.equal({ ok: true, effective: 'rebuilt', records: 1 });
  });

  it('skips a collection whose owner already knows its deletion', async () => {
    const rw = await edge.client();
    await rw.post('/v1/records', { collection: 'a', values: [1] });
    edge.backend.beforeCall = ({ name }, { op }) => {
      if (name === 'b' && op === 'rebuild') throw new VouchError('collection_not_found', 'collection "b" was deleted');
    };
    const { body } = await rw.post('/v1/index/rebuild', {});
    expect(body).to.deep.equal({ ok: true, effective: 'rebuilt', records: 1 });
  });

  it('has its own deadline, while calls that wait for it keep theirs', async () => {
    const rw = await edge.client();
    const deadlines = new Map<string, number>();
    const call = edge.backend.call.bind(edge.backend);
    edge.backend.call = (collection, asked, envelope) => {
      deadlines.set(asked.op, envelope!.deadlineMs - systemClock.nowMs());
      return call(collection, asked, envelope);
    };
    await rw.post('/v1/index/rebuild', {});
    await rw.post('/v1/records', { collection: 'a', values: [1] });
    expect(deadlines.get('rebuild')).to.be.within(30_000, 60_000);
    for (const op of ['hold', 'insert']) expect(deadlines.get(op)).to.be.within(1, 5_000);
  });

  it('finishes and releases although the client has disconnected', async () => {
    const key = await edge.key();
    const slow = gate();
    edge.backend.beforeCall = (_, { op }) => (op === 'rebuild' ? slow.opened : undefined);
    const client = new AbortController();
    const sent = fetch(`${edge.edge.url}/v1/index/rebuild`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      signal: client.signal,
    });
    await eventually(
      'every collection is asked to rebuild',
      () => ofOp(edge.backend.calls, 'rebuild').length === NAMES.length,
    );
    client.abort();
    await sent.catch(() => undefined);
    expect(edge.backend.holders()).not.to.include(FREE);
    slow.open();
    await eventually('every hold is released', () =>
      Object.values(edge.backend.holders()).every((one) => one === undefined),
    );
  });
});

describe('the hold on a project', () => {
  const TIMES = { holdMs: 400, renewEveryMs: 20 };
  const heldBy = async (token: string, backend: FakeBackend) => {
    const collections = await Promise.all(NAMES.map((name) => backend.find('p', name)));
    const hold = new ProjectHold(
      backend,
      { clock: systemClock, logger: silentLogger },
      { token, requestId: 'test' },
      TIMES,
    );
    return { hold, collections };
  };
  let backend: FakeBackend;
  beforeEach(async () => {
    backend = new FakeBackend();
    for (const name of NAMES) await backend.create('p', { name, dimension: 1, index: 'brute' });
  });

  it('is renewed several times within its duration, and not after its release', async () => {
    expect(3 * HOLD_TIMES.renewEveryMs).to.be.below(HOLD_TIMES.holdMs);
    const { hold, collections } = await heldBy('x', backend);
    expect(await hold.take(collections, soon())).to.have.length(NAMES.length);
    await eventually('every hold is renewed three times', () => ofOp(backend.calls, 'hold').length >= 4 * NAMES.length);
    for (const call of ofOp(backend.calls, 'hold')) expect(call).to.deep.equal({ op: 'hold', token: 'x', holdMs: 400 });
    await hold.release();
    const { length } = backend.calls;
    await new Promise((resolve) => setTimeout(resolve, 5 * TIMES.renewEveryMs));
    expect(backend.calls).to.have.length(length);
    expect(backend.holders()).to.deep.equal(FREE);
  });

  it('is renewed further after a failed renewal', async () => {
    const { hold, collections } = await heldBy('x', backend);
    await hold.take(collections, soon());
    let failed = 0;
    backend.beforeCall = ({ name }, { op }) => {
      if (op === 'hold' && name === 'a' && failed++ < 3) throw unavailable('no answer');
    };
    await eventually('the failed hold is renewed', () => failed > 5);
    await hold.release();
    expect(backend.holders()).to.deep.equal(FREE);
  });

  it('is not renewed after its release, even by a renewal in flight', async () => {
    const { hold, collections } = await heldBy('x', backend);
    await hold.take(collections, soon());
    const slow = gate();
    let renewing = false;
    backend.beforeCall = (_, { op }) => {
      renewing ||= op === 'hold';
      return op === 'hold' ? slow.opened : undefined;
    };
    await eventually('a renewal is under way', () => renewing);
    const released = hold.release();
    await new Promise((resolve) => setImmediate(resolve));
    expect(ofOp(backend.calls, 'release')).to.deep.equal([]);
    slow.open();
    await released;
    expect(backend.holders()).to.deep.equal(FREE);
  });

  it('is taken in the order of collection ids, so that one of two rebuilds holds nothing', async () => {
    const one = await heldBy('one', backend);
    const two = await heldBy('two', backend);
    const slow = gate();
    backend.beforeCall = ({ name }, { op }) => (op === 'hold' && name !== 'a' ? slow.opened : undefined);
    const first = one.hold.take(one.collections, soon());
    await expectCode(two.hold.take([...two.collections].reverse(), soon()), 'conflict');
    await two.hold.release();
    expect(backend.holders()).to.deep.equal({ ...FREE, a: 'one' });
    slow.open();
    await first;
    expect(backend.holders()).to.deep.equal({ a: 'one', b: 'one', c: 'one' });
    await one.hold.release();
  });

  it('is empty for a project without collections', async () => {
    const { hold } = await heldBy('x', backend);
    expect(await hold.take([], soon())).to.deep.equal([]);
    await hold.release();
    expect(backend.calls).to.deep.equal([]);
  });
});
