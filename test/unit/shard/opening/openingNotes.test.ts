// Covers: shard/opening/openingNotes.ts, shard/opening/openingSteps.ts, shard/opening/openingFailures.ts
/** Notes of a shard's openings, and the failures that are counted for abandoned notes. */
import { expect } from 'chai';
import { OpeningNotes } from '../../../../shard/opening/openingNotes.js';
import { OpeningSteps, type StepNote } from '../../../../shard/opening/openingSteps.js';
import type { Bucket } from '../../../../shared/bucket/bucket.js';
import { MemoryBucket } from '../../../../shared/bucket/memory.js';
import { systemClock } from '../../../../shared/clock.js';
import { unavailable } from '../../../../shared/errors/errors.js';
import { silentLogger } from '../../../../shared/logger.js';
import { Metrics } from '../../../../shared/metrics/metrics.js';
import {
  failuresKey,
  failuresOf,
  noteInBucket,
  openingsKey,
  openingsOf,
  storedOpenings,
} from '../../../../shared/registry/openings.js';
import { storedHeartbeat } from '../../../../shared/registry/owners.js';
import { InProcessTransport } from '../../../../shared/transport/inProcess.js';
import { shardSubject } from '../../../../shared/transport/subjects.js';
import { eventually, expectCode, gate } from '../../../support/expectations.js';
import { HEARTBEAT, OWNER } from '../../../support/nats/bucketEntries.js';

const LEASE_MS = 1_000;
const onFailure = (error: unknown): never => {
  throw error;
};
const bucket = (): MemoryBucket => new MemoryBucket({ logger: silentLogger });

describe('opening notes', () => {
  let openings: Bucket;
  let shards: Bucket;
  let owners: Bucket;
  let transport: InProcessTransport;
  let started: OpeningNotes[];
  let hanging: ReturnType<typeof gate>;
  /** Mark in the file of each shard. */
  let files: Map<string, unknown>;
  let memory: { usedPart: number };

  beforeEach(() => {
    [openings, shards, owners] = [bucket(), bucket(), bucket()];
    transport = new InProcessTransport({ logger: silentLogger });
    for (const id of [7, 8, 9]) void owners.create(String(id), OWNER);
    started = [];
    files = new Map();
    memory = { usedPart: 0.5 };
    hanging = gate();
  });
  afterEach(async () => {
    hanging.open();
    await Promise.all(started.map((notes) => notes.stop()));
    await transport.close();
  });

  const start = async (shard: string, session = `${shard}a`, over = openings): Promise<OpeningNotes> => {
    const options = {
      ...{ shard, session, leaseMs: LEASE_MS, openings: over, shards, owners, transport },
      note: noteInBucket(over, shard),
      steps: new OpeningSteps({ session, file: fileOf(shard), memory, onFailure }),
      ...{ metrics: new Metrics('shard', shard), clock: systemClock, logger: silentLogger },
    };
    const notes = new OpeningNotes(options, () => undefined);
    await notes.start();
    await shards.put(shard, storedHeartbeat({ ...HEARTBEAT, session }));
    started.push(notes);
    return notes;
  };
  const fileOf = (shard: string) => ({
    read: async () => files.get(shard),
    write: (note: unknown) => void files.set(shard, note),
    close: async () => undefined,
  });
  const stepIn = (shard: string): string | undefined => (files.get(shard) as StepNote | undefined)?.at?.step;
  const lapse = (shard: string): Promise<boolean> => shards.delete(shard);
  /** Subscribes the shard's subject without answering. */
  const hang = (shard: string) =>
    transport.serve(shardSubject(shard), async () => {
      await hanging.opened;
      return new Uint8Array();
    });
  const noteOf = async (shard: string) => {
    const entry = await openings.get(openingsKey(shard));
    return entry && openingsOf(entry);
  };
  const failuresNoted = async (id: number): Promise<string[]> => {
    const entry = await openings.get(failuresKey(id));
    return entry === undefined
      ? []
      : failuresOf(entry).map(({ how, alone, step }) =>
          [how, ...(alone ? ['alone'] : []), ...(step === undefined ? [] : ['in', step])].join(' '),
        );
  };
  const stall = (notes: OpeningNotes, id: number, ms: number, op = 'replay', cause: 'work' | 'pause' = 'work') =>
    notes.stalled({ thread: 'loop', ms, cpuMs: ms, cause, works: [{ op, subject: { id, project: 'p' } }] });

  it('are durable before the opening, and deleted soon after it', async () => {
    const notes = await start('s1');
    await notes.begin(7, { alone: false });
    await notes.begin(8, { alone: true });
    expect(await noteOf('s1')).to.deep.equal({ session: 's1a', openings: { '7': 1, '8': 2 }, alone: 8 });
    notes.end(7);
    notes.end(8);
    await eventually('the note is gone', async () => (await noteOf('s1')) === undefined);
  });

  it('take two writes for five hundred concurrent openings, and one for their end', async () => {
    let writes = 0;
    const counted = bucket();
    const put = counted.put.bind(counted);
    const remove = counted.delete.bind(counted);
    counted.put = (...args) => {
      writes++;
      return put(...args);
    };
    counted.delete = (...args) => {
      writes++;
      return remove(...args);
    };
    const notes = await start('s1', 's1a', counted);
    const ids = Array.from({ length: 500 }, (_, i) => i + 1);
    await Promise.all(ids.map((id) => notes.begin(id, { alone: false })));
    expect(writes).to.be.at.most(2);
    for (const id of ids) notes.end(id);
    await eventually('the note is gone', async () => (await counted.get(openingsKey('s1'))) === undefined);
    expect(writes).to.be.at.most(3);
  });

  it('from an ended process of this name are counted at the next opening if the first attempt fails', async () => {
    const ended = await start('s1');
    await ended.begin(7, { alone: false });
    started.length = 0;
    const create = openings.create.bind(openings);
    let failures = 1;
    openings.create = async (...entry) => {
      if (failures-- > 0) throw unavailable('the store does not answer');
      return create(...entry);
    };
    const notes = await start('s1', 's1b');
    await eventually('the first try has failed', () => failures === 0);
    expect(await failuresNoted(7)).to.deep.equal([]);
    expect(await notes.isSuspect(7)).to.equal(true);
    expect(await failuresNoted(7)).to.deep.equal(['ended']);
    await notes.begin(8, { alone: false });
  });

  it('fail the opening if they cannot be written', async () => {
    const notes = await start('s1');
    await (openings as MemoryBucket).close();
    await expectCode(notes.begin(7, { alone: false }), 'unavailable');
  });

  it('make no collection suspect while their process lives', async () => {
    const [s1, s2] = [await start('s1'), await start('s2')];
    await s1.begin(7, { alone: false });
    expect(await s2.isSuspect(7)).to.equal(false);
  });

  it('make no collection suspect while their process answers without a lease', async () => {
    const [s1, s2] = [await start('s1'), await start('s2')];
    await s1.begin(7, { alone: false });
    await lapse('s1');
    const serving = await transport.serve(shardSubject('s1'), async () => new Uint8Array());
    expect(await s2.isSuspect(7)).to.equal(false);
    await serving.stop();
  });

  it('count once as blocked if their process has no lease and does not answer', async () => {
    const [s1, s2, s3] = [await start('s1'), await start('s2'), await start('s3')];
    await Promise.all([s1.begin(7, { alone: false }), s1.begin(8, { alone: false })]);
    await lapse('s1');
    await hang('s1');
    expect(await Promise.all([s2.isSuspect(7), s2.isSuspect(8), s3.isSuspect(7)])).to.deep.equal([true, true, true]);
    expect(await failuresNoted(7)).to.deep.equal(['blocked']);
    expect(await failuresNoted(8)).to.deep.equal(['blocked']);
    expect(await noteOf('s1')).to.equal(undefined);
    expect(s2.quarantineOf(7)).to.equal(undefined);
  });

  it('count as ended if their process is gone', async () => {
    const [s1, s2] = [await start('s1'), await start('s2')];
    await s1.begin(7, { alone: true });
    await lapse('s1');
    expect(await s2.isSuspect(7)).to.equal(true);
    expect(await failuresNoted(7)).to.deep.equal(['ended alone']);
  });

  it('count as ended if an earlier process of the shard left them, unless the collection was deleted', async () => {
    const before = await start('s1');
    await before.begin(7, { alone: true });
    await before.begin(10, { alone: false });
    const after = await start('s1', 's1b');
    expect(await after.isSuspect(7)).to.equal(true);
    expect(await after.isSuspect(10)).to.equal(false);
    expect(await failuresNoted(7)).to.deep.equal(['ended alone']);
    await after.begin(9, { alone: false });
    expect((await noteOf('s1'))?.openings).to.deep.equal({ '9': 1 });
  });

  /** Ends the process in the middle of the turn in which it files the step. */
  const endIn = async (shard: string, session: string, id: number, step?: number): Promise<void> => {
    const notes = await start(shard, session);
    await notes.isSuspect(id);
    await notes.begin(id, { alone: true });
    const left = { ...(await noteOf(shard))! };
    if (step !== undefined) notes.step(id, 'event', step);
    const note = files.get(shard);
    await notes.stop();
    started.splice(started.indexOf(notes), 1);
    await openings.put(openingsKey(shard), storedOpenings(left));
    files.set(shard, note);
  };

  it('name the step of a suspect opening for one turn of the event loop', async () => {
    const notes = await start('s1');
    await notes.begin(8, { alone: false });
    notes.step(8, 'event', 1);
    expect(stepIn('s1')).to.equal(undefined);
    await notes.begin(7, { alone: true });
    notes.step(8, 'event', 2);
    expect(stepIn('s1')).to.equal(undefined);
    notes.step(7, 'event', 3);
    expect(files.get('s1')).to.deep.equal({ session: 's1a', at: { collection: 7, number: 2, step: 'event 3' } });
    await new Promise((resolve) => setImmediate(resolve));
    expect(stepIn('s1')).to.equal(undefined);
    notes.step(7, 'records', 4);
    expect(stepIn('s1')).to.equal('records 4');
    notes.end(7);
    expect(stepIn('s1')).to.equal(undefined);
  });

  it('name memory as the step if the opening has nearly filled it', async () => {
    const notes = await start('s1');
    await notes.begin(7, { alone: true });
    memory.usedPart = 0.95;
    notes.step(7, 'event', 1);
    expect(stepIn('s1')).to.equal('memory');
    notes.end(7);
    await notes.begin(8, { alone: true });
    notes.step(8, 'event', 1);
    expect(stepIn('s1')).to.equal(undefined);
  });

  it('quarantine a collection after three processes on any shards ended in the same step', async () => {
    await endIn('s1', 's1a', 7);
    await endIn('s1', 's1b', 7, 5);
    await endIn('s2', 's2a', 7, 5);
    await endIn('s3', 's3a', 7, 5);
    for (const shard of ['s1', 's2']) await (await start(shard, `${shard}z`)).isSuspect(9);
    expect(await failuresNoted(7)).to.deep.equal(['ended alone', 'ended alone in event 5', 'ended alone in event 5']);
    const s3 = await start('s3', 's3z');
    await s3.isSuspect(7);
    expect(s3.quarantineOf(7)).to.match(/^its opening stopped a shard/);
  });

  it('do not quarantine after processes that ended in different steps or between steps', async () => {
    for (let i = 0; i < 30; i++) {
      await endIn('s1', `s1-${i}`, 7, i % 3 === 2 ? undefined : Math.floor(i / 2));
      const s1 = await start('s1', `s1-${i}z`);
      expect(await s1.isSuspect(7)).to.equal(true);
      expect(s1.quarantineOf(7)).to.equal(undefined);
    }
  });

  it('are corrected by a shard that ended between two steps after others counted it', async () => {
    const s2 = await start('s2');
    await hang('s1');
    for (const [session, step] of [
      ['s1a', undefined],
      ['s1b', 5],
    ] as const) {
      await endIn('s1', session, 7, step);
      await lapse('s1');
      await s2.isSuspect(7);
      expect(await failuresNoted(7)).to.deep.equal(['blocked alone']);
      await (await start('s1', `${session}z`)).isSuspect(7);
      expect(await failuresNoted(7)).to.deep.equal(step === undefined ? [] : ['blocked alone in event 5']);
    }
  });

  it('quarantine a collection opened alone after two blocked openings, at every shard', async () => {
    const [s1, s2, s3] = [await start('s1'), await start('s2'), await start('s3')];
    await Promise.all([7, 8].map((id) => s1.begin(id, { alone: false })));
    await lapse('s1');
    await hang('s1');
    await Promise.all([7, 8].map((id) => s2.isSuspect(id)));
    await s2.begin(7, { alone: true });
    await lapse('s2');
    await hang('s2');
    await Promise.all([7, 8].map((id) => s3.isSuspect(id)));
    for (const shard of [s1, s2, s3]) {
      expect(shard.quarantineOf(7)).to.match(/^its opening stopped a shard 2 times.*npm run keys -- release 7/);
      expect(shard.quarantineOf(8)).to.equal(undefined);
    }
  });

  it('make a collection trusted again after a successful opening or a release', async () => {
    await (await start('s1')).begin(7, { alone: true });
    const [s1, s2] = [await start('s1', 's1b'), await start('s2')];
    expect(await s1.isSuspect(7)).to.equal(true);
    await s1.opened(7);
    expect(await failuresNoted(7)).to.deep.equal([]);
    expect(await s2.isSuspect(7)).to.equal(false);
  });

  it('count a stall of the shard itself in place of the failure that others counted', async () => {
    const [s1, s2] = [await start('s1'), await start('s2')];
    await s1.begin(7, { alone: false });
    await lapse('s1');
    await hang('s1');
    await s2.isSuspect(7);
    stall(s1, 7, 5 * LEASE_MS);
    await s1.leaseRegained();
    expect(await failuresNoted(7)).to.deep.equal(['stalled']);
  });

  it('count a stall that is reported right after the lease was regained', async () => {
    const s1 = await start('s1');
    await s1.begin(7, { alone: false });
    const counted = s1.leaseRegained();
    stall(s1, 7, 5 * LEASE_MS);
    await counted;
    expect(await failuresNoted(7)).to.deep.equal(['stalled']);
  });

  it('count an opening that ended within the stalled turn', async () => {
    const s1 = await start('s1');
    await s1.begin(7, { alone: true });
    s1.end(7);
    stall(s1, 7, 5 * LEASE_MS);
    await s1.leaseRegained();
    expect(await failuresNoted(7)).to.deep.equal(['stalled alone']);
  });

  it('are corrected by a shard that was paused after others counted it', async () => {
    const [s1, s2] = [await start('s1'), await start('s2')];
    await s1.begin(7, { alone: true });
    await lapse('s1');
    await hang('s1');
    await s2.isSuspect(7);
    expect(await failuresNoted(7)).to.deep.equal(['blocked alone']);
    stall(s1, 7, 5 * LEASE_MS, 'replay', 'pause');
    await s1.leaseRegained();
    expect(await failuresNoted(7)).to.deep.equal([]);
    expect(await s2.isSuspect(7)).to.equal(false);
  });

  it('count a stall by a commit, but not by a read', async () => {
    const s1 = await start('s1');
    stall(s1, 7, 5 * LEASE_MS, 'facets');
    stall(s1, 8, 5 * LEASE_MS, 'commit');
    stall(s1, 9, LEASE_MS / 8, 'commit');
    await s1.leaseRegained();
    expect(await Promise.all([7, 8, 9].map(failuresNoted))).to.deep.equal([[], ['blocked'], []]);
    await s1.leaseRegained();
    expect(await failuresNoted(8)).to.deep.equal(['blocked']);
  });

  it('written while other notes cannot be read delay the opening until they are read', async () => {
    await (await start('s1')).begin(7, { alone: false });
    const { opened, open } = gate();
    const get = owners.get.bind(owners);
    owners.get = async (key) => {
      await opened;
      return get(key);
    };
    const s1 = await start('s1', 's1b');
    let isKnown = false;
    const suspect = s1.isSuspect(7).finally(() => {
      isKnown = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(isKnown).to.equal(false);
    open();
    expect(await suspect).to.equal(true);
  });
});
