// Covers: coordinator/serviceLog/census.ts
/** The entries that the writer of the service log appends, and their times. */
import { expect } from 'chai';
import { configHashOf, LogWriterRig } from '../../../support/rigs/logWriterRig.js';

const MINUTE_MS = 60_000;
/** Time between two checks for missing collections. */
const LOOK_MS = 10_000;

/**
 * Entries in short, of collection 7: `c7:3` is a checkpoint of 3 events, `d7` a deletion, `a7:3` an access log of 3 entries. A
 * census of two collections is `=2`; `=1-7` is one in which 7 is missing.
 */
async function entriesOf(rig: LogWriterRig): Promise<string> {
  const words = (await rig.entries()).map((entry) => {
    if (entry.type === 'checkpoint') return `c${entry.collectionId}:${entry.size}`;
    if (entry.type === 'deletion') return `d${entry.collectionId}`;
    if (entry.type === 'access log') return `a${entry.collectionId}:${entry.size}`;
    return [`=${entry.present}`, ...entry.missing].join('-');
  });
  return words.join(' ');
}

describe('the writer of the service log', () => {
  it('logs an access log when it has grown, not before and not after the deletion of its collection', async () => {
    const rig = await LogWriterRig.make();
    const hash = '07'.repeat(32);
    const headOf = (size: number) => ({ collectionId: 7, configHash: hash, size, chainHead: hash, root: hash });
    rig.listed.add(7);
    rig.open.set(7, 2);
    for (const size of [3, 3, 5]) {
      rig.accessHeads.splice(0, 1, headOf(size));
      await rig.round();
    }
    expect(await entriesOf(rig)).to.match(/^c7:3 a7:3( =1)? a7:5$/);
    rig.accessHeads.splice(0, 1, headOf(4));
    await rig.round();
    expect(rig.errors.join()).to.include('an access log has fewer entries than the service log says');
    rig.listed.delete(7);
    rig.open.delete(7);
    rig.erased.add(7);
    rig.accessHeads.splice(0, 1, headOf(9));
    await rig.round();
    await rig.round();
    expect(await entriesOf(rig)).to.match(/a7:5 d7( =\S+)*$/);
  });

  it('logs a collection that no shard has open and that the log has never had', async () => {
    const rig = await LogWriterRig.make();
    rig.listed.add(7);
    rig.unseen.set(7, 1).set(8, 0);
    await rig.look();
    await rig.round();
    expect(await entriesOf(rig)).to.equal('c7:2 =1');
    await rig.round();
    expect(rig.opened, 'it is opened once').to.deep.equal([7]);
  });

  it('opens no collection that may be older than the log, unless the log contains it', async () => {
    const rig = await LogWriterRig.make();
    rig.firstId = 10;
    for (const id of [8, 9, 10]) rig.listed.add(id);
    rig.open.set(9, 1);
    await rig.round();
    rig.open.clear();
    rig.unseen.set(8, 5).set(9, 2).set(10, 1);
    await rig.look();
    await rig.round();
    expect(rig.opened).to.deep.equal([9, 9, 10]);
  });

  it('retries a collection that could not be opened, and opens a limited number in a round', async () => {
    const rig = await LogWriterRig.make();
    for (let id = 1; id <= 100; id++) {
      rig.unseen.set(id, 1);
      rig.listed.add(id);
    }
    rig.broken.add(1);
    await rig.look();
    await rig.round();
    expect(rig.store.collections.size).to.equal(63);
    await rig.round();
    expect(rig.store.collections.size).to.equal(99);
    rig.broken.clear();
    await rig.round();
    expect(rig.store.collections.get(1)).to.include({ configHash: configHashOf(1), size: 2 });
  });

  it('drops a collection that was deleted before it was logged', async () => {
    const rig = await LogWriterRig.make();
    rig.unseen.set(7, 1);
    await rig.look();
    rig.erased.add(7);
    await rig.round();
    await rig.round();
    expect([await entriesOf(rig), rig.opened]).to.deep.equal(['', []]);
  });

  it('counts the existing collections hourly', async () => {
    const rig = await LogWriterRig.make();
    await rig.round();
    for (const id of [1, 2]) {
      rig.listed.add(id);
      rig.open.set(id, 1);
    }
    await rig.round();
    rig.clock.ms += 59 * MINUTE_MS;
    await rig.round();
    expect(await entriesOf(rig)).to.equal('c1:2 c2:2 =2');
    rig.clock.ms += MINUTE_MS;
    await rig.round();
    expect(await entriesOf(rig)).to.equal('c1:2 c2:2 =2 =2');
  });

  it('names a collection that is missing without a deletion, and counts it again when it is back', async () => {
    const rig = await LogWriterRig.make();
    for (const id of [1, 2]) {
      rig.listed.add(id);
      rig.open.set(id, 1);
    }
    await rig.round();
    rig.listed.delete(2);
    rig.clock.ms += LOOK_MS;
    await rig.round();
    rig.clock.ms += 9_999;
    await rig.round();
    expect(await entriesOf(rig), 'its deletion may still arrive').to.equal('c1:2 c2:2 =2');
    for (let i = 0; i < 2; i++) {
      rig.clock.ms += LOOK_MS;
      await rig.round();
    }
    expect(await entriesOf(rig)).to.equal('c1:2 c2:2 =2 =1-2');
    rig.listed.add(2);
    rig.clock.ms += LOOK_MS;
    await rig.round();
    expect(await entriesOf(rig)).to.equal('c1:2 c2:2 =2 =1-2 =2');
  });

  it('reports a collection with fewer events than the log once, unless the log has grown meanwhile', async () => {
    const rig = await LogWriterRig.make();
    rig.listed.add(7);
    rig.open.set(7, 4);
    await rig.round();
    rig.meanwhile = () => rig.appendElsewhere(7, 9);
    rig.unseen.set(7, 4);
    await rig.look();
    expect(rig.errors).to.deep.equal([]);
    rig.meanwhile = () => rig.appendElsewhere(7, 12);
    await rig.round();
    expect(rig.errors).to.deep.equal([]);
    rig.meanwhile = async () => {};
    for (let i = 0; i < 2; i++) await rig.round();
    expect(rig.errors).to.deep.equal(['a collection has fewer events than the service log says: it was rolled back']);
  });

  it('does not name a collection that is being deleted', async () => {
    const rig = await LogWriterRig.make();
    for (const id of [1, 2]) {
      rig.listed.add(id);
      rig.open.set(id, 1);
    }
    await rig.round();
    rig.listed.delete(2);
    rig.clock.ms += LOOK_MS;
    await rig.round();
    rig.open.delete(2);
    rig.erased.add(2);
    rig.clock.ms += MINUTE_MS;
    await rig.round();
    rig.clock.ms += 60 * MINUTE_MS;
    await rig.round();
    expect(await entriesOf(rig)).to.equal('c1:2 c2:2 =2 d2 =1');
  });
});
