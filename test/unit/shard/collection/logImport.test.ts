/** The export of a log in pieces, and its import into another collection whose own log fails. */
import { expect } from 'chai';
import { VouchError } from '../../../../shared/errors/errors.js';
import { readFrameHeader } from '../../../../shared/log/frame.js';
import type { CollectionConfig } from '../../../../shared/model/collectionConfig.js';
import type { Results } from '../../../../shared/protocol/calls.js';
import { expectCode } from '../../../support/expectations.js';
import { type SeededRandom, seededRandom, testSeed } from '../../../support/model/random.js';
import { configOf, Engine, requestIdOf, soon, type TestCollection } from '../../../support/rigs/engine.js';
import { type Fate, ScriptedLogs } from '../../../support/rigs/scriptedLogs.js';

const ID = 7;
const OTHER_ID = 9;
const FATES: readonly Fate[] = ['stored', 'stored', 'landed', 'lost', 'late', 'fenced'];

/** A collection in another project, under another name and id. */
const elsewhere: CollectionConfig = {
  ...configOf(OTHER_ID, 'copy'),
  project: 'q',
  origin: { project: configOf(ID).project, name: configOf(ID).name, id: ID },
};

async function live(collection: TestCollection, random: SeededRandom): Promise<void> {
  for (let n = 1; n <= 40; n++) {
    const kind = random.int(4);
    if (kind < 2) await collection.insert([n, kind], { requestId: requestIdOf(n), text: kind ? 'some words' : null });
    else if (kind === 2) await collection.batch(Array.from({ length: 1 + random.int(20) }, (_, i) => [n, i]));
    else
      await collection
        .write({ op: random.pick(['softDelete', 'delete']), id: 1 + random.int(n) })
        .catch(() => undefined);
  }
}

const send = (to: TestCollection, frames: readonly Uint8Array[], upTo: number): Promise<Results['importFrames']> =>
  to.hosted.run({ op: 'importFrames', frames, upTo }, soon()) as Promise<Results['importFrames']>;

const stateHash = async (of: TestCollection): Promise<string> => {
  const { stateHash: hash } = (await of.hosted.run({ op: 'proofState' }, soon())) as Results['proofState'];
  return Buffer.from(hash).toString('hex');
};

const lastOf = (frame: Uint8Array): number => {
  const { firstSequence, events } = readFrameHeader(frame);
  return firstSequence + events - 1;
};

describe('an exported and imported log', () => {
  let logs: ScriptedLogs;
  let collection: TestCollection;
  let random: SeededRandom;
  beforeEach(async () => {
    random = seededRandom(testSeed());
    logs = new ScriptedLogs();
    collection = new Engine(logs).host(configOf(ID));
    await live(collection, random);
  });
  afterEach(() => collection.hosted.close({ keep: true }));

  it('is read in whole frames, as many as fit, from any event', async () => {
    const frames = logs.frames(ID);
    const end = lastOf(frames.at(-1)!);
    for (let i = 0; i < 200; i++) {
      const from = random.int(end + 3);
      const maxBytes = 1 + random.int(3_000);
      const read = (await collection.hosted.run({ op: 'readLog', from, maxBytes }, soon())) as Results['readLog'];
      expect(read.end).to.equal(end);
      const first = frames.findIndex((frame) => lastOf(frame) >= from);
      const given = first < 0 ? [] : frames.slice(first, first + read.frames.length);
      expect(read.frames.map((frame) => Buffer.from(frame))).to.deep.equal(given.map((frame) => Buffer.from(frame)));
      expect(read.last).to.equal(given.length === 0 ? end : lastOf(given.at(-1)!));
      if (first >= 0) expect(read.frames.length).to.be.above(0);
      const sizeBytes = read.frames.reduce((sum, { length }) => sum + length, 0);
      if (read.frames.length > 1) expect(sizeBytes).to.be.at.most(maxBytes);
    }
  });

  it('arrives complete and equal in spite of failed appends, unknown outcomes and restarts', async () => {
    const frames = logs.frames(ID);
    const end = lastOf(frames.at(-1)!);
    const away = new ScriptedLogs();
    const engine = new Engine(away);
    let copy = engine.host(elsewhere);
    for (let reached = -1; reached < end; ) {
      away.fates.push(...Array.from({ length: random.int(4) }, () => random.pick(FATES)));
      const next = frames.findIndex((frame) => lastOf(frame) > reached);
      const from = random.int(next + 1);
      try {
        const group = frames.slice(from, next + 1 + random.int(4));
        reached = (await send(copy, group, end)).sequence;
        expect(reached).to.be.at.least(lastOf(group.at(-1)!));
      } catch (error) {
        expect(error).to.be.instanceOf(VouchError).with.property('code', 'unavailable');
        if (random.int(2)) away.landLate();
      }
      if (random.int(4) === 0) {
        await copy.hosted.close({ keep: true });
        copy = engine.host(elsewhere);
      }
    }
    expect(away.frames(OTHER_ID).map((frame) => Buffer.from(frame))).to.deep.equal(
      frames.map((frame) => Buffer.from(frame)),
    );
    expect(await stateHash(copy)).to.equal(await stateHash(collection));
    await copy.hosted.close({ keep: true });
  });

  it('is refused by a collection that states another origin', async () => {
    const frames = logs.frames(ID);
    const { origin: _, ...own } = elsewhere;
    const strangers: CollectionConfig[] = [
      own,
      { ...elsewhere, dimension: 3 },
      { ...elsewhere, createdAtMs: 1 },
      ...(['project', 'name'] as const).map((field) => ({
        ...elsewhere,
        origin: { ...elsewhere.origin!, [field]: 'x' },
      })),
      { ...elsewhere, origin: { ...elsewhere.origin!, id: 8 } },
    ];
    for (const config of strangers) {
      const away = new ScriptedLogs();
      const copy = new Engine(away).host(config);
      await expectCode(send(copy, frames, 1_000), 'validation_error');
      expect(away.frames(OTHER_ID)).to.deep.equal([]);
      await copy.hosted.close({ keep: true });
    }
  });
});
