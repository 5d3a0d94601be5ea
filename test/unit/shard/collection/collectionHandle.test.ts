// Covers: shard/collection/handleState.ts, shard/collection/quarantine.ts, shard/collection/storedCounts.ts
// Covers: shared/log/logCount.ts
/** A handle of a collection between its states: idle, opening, open, serving, quarantined and closed. */
import { expect } from 'chai';
import type { Collection } from '../../../../shard/collection/collection.js';
import type { CollectionContext } from '../../../../shard/collection/collectionContext.js';
import { CollectionHandle } from '../../../../shard/collection/collectionHandle.js';
import { eventually, expectCode, gate, rejection } from '../../../support/expectations.js';
import { configOf, Engine, TestCollection } from '../../../support/rigs/engine.js';
import { ScriptedLogs } from '../../../support/rigs/scriptedLogs.js';
import { trustingOpenings } from '../../../support/rigs/trustingOpenings.js';

const config = configOf(1);

describe('a handle of a collection', () => {
  let logs: ScriptedLogs;
  let context: CollectionContext;
  /** The reason why the collection must not be opened, as the notes of all shards say. */
  let failures: string | undefined;
  /** Each opening waits for it before it reads the log. */
  let mayOpen: ReturnType<typeof gate>;
  let openings: number;

  beforeEach(async () => {
    logs = new ScriptedLogs();
    failures = undefined;
    openings = 0;
    mayOpen = gate();
    const begin = async (): Promise<void> => {
      openings++;
      await mayOpen.opened;
    };
    const { context: whole } = new Engine(logs);
    await new TestCollection(new CollectionHandle(config, whole)).insert([1, 1]);
    context = { ...whole, openings: trustingOpenings({ quarantineOf: () => failures, begin }) };
  });

  const idsIn = (handle: CollectionHandle): Promise<number[]> => new TestCollection(handle).found();
  /** The opening has begun, and waits. */
  const untilOpening = (count = 1): Promise<void> => eventually('it is being opened', () => openings === count);

  it('opens the collection once for all calls that wait', async () => {
    const handle = new CollectionHandle(config, context);
    const answers = [idsIn(handle), idsIn(handle)];
    await untilOpening();
    expect(handle.openCollection).to.equal(undefined);
    mayOpen.open();
    expect(await Promise.all(answers)).to.deep.equal([[1], [1]]);
    expect(openings).to.equal(1);
  });

  it('is not open if a quarantine begins during the opening, and refuses the calls that wait', async () => {
    const handle = new CollectionHandle(config, context);
    const answer = rejection(idsIn(handle));
    await untilOpening();
    failures = 'its openings have stopped shards';
    handle.checkFailedOpenings();
    mayOpen.open();
    expect((await answer).message).to.contain('its openings have stopped shards');
    expect([handle.quarantined, handle.openCollection]).to.deep.equal([true, undefined]);
  });

  it('closes what such an opening has opened, and opens it again when the quarantine ends', async () => {
    const handle = new CollectionHandle(config, context);
    const opened: Promise<Collection> = handle.opened();
    await untilOpening();
    failures = 'its openings have stopped shards';
    handle.checkFailedOpenings();
    mayOpen.open();
    const first = await opened;
    failures = undefined;
    handle.checkFailedOpenings();
    expect(await idsIn(handle)).to.deep.equal([1]);
    expect(openings).to.equal(2);
    expect(handle.openCollection).not.to.equal(first);
  });

  it('does not serve what it opened as owner if it became a follower during the opening', async () => {
    const handle = new CollectionHandle(config, context);
    const answer = rejection(idsIn(handle));
    await untilOpening();
    await handle.demote();
    mayOpen.open();
    await answer;
    expect([handle.openCollection === undefined, handle.shown]).to.deep.equal([false, undefined]);
    await handle.promote();
    expect(await idsIn(handle)).to.deep.equal([1]);
    expect(openings).to.equal(1);
  });

  it('opens the collection again after an opening that failed', async () => {
    mayOpen.open();
    const handle = new CollectionHandle(config, context);
    logs.failRead = new Error('the log is out of reach');
    expect((await rejection(idsIn(handle))).message).to.equal('the log is out of reach');
    expect(await idsIn(handle)).to.deep.equal([1]);
  });

  it('answers calls that wait for an opening when its end is announced, and opens nothing after that', async () => {
    const handle = new CollectionHandle(config, context);
    const answer = idsIn(handle);
    await untilOpening();
    handle.cancelBackgroundWork();
    mayOpen.open();
    expect(await answer).to.deep.equal([1]);
    await handle.close({ keep: true });
    expect(handle.openCollection).to.equal(undefined);
    await expectCode(handle.opened(), 'unavailable');
    expect(openings).to.equal(1);
  });
});
