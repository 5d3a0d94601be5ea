/** The publisher of the service log: detection of a rolled back log, as opposed to a stale reading. */
import { expect } from 'chai';
import { SERVICE_LOG_ID } from '../../../../shared/log/eventLog.js';
import { entry, PublisherRig, policyOf, STALE_MS, WitnessServer } from '../../../support/rigs/publisherRig.js';

describe('the publisher of the service log', () => {
  it('reads new entries before it compares', async () => {
    const rig = new PublisherRig();
    const late = await rig.coordinator();
    const first = await rig.coordinator();
    await first.store.append([entry(1), entry(2)], Number.POSITIVE_INFINITY);
    await first.publisher.now();
    expect(rig.size).to.equal(2);
    await late.publisher.now();
    expect(late.publisher.stalled).to.equal(undefined);
    await late.store.append([entry(3)], Number.POSITIVE_INFINITY);
    await late.publisher.now();
    expect(rig.size).to.equal(3);
  });

  it('stalls if entries are missing for longer than a replica may be stale, and signs nothing before', async () => {
    const rig = new PublisherRig();
    await rig.publish(2);
    rig.logs.lose(SERVICE_LOG_ID, 1);
    const { store, publisher } = await rig.coordinator();
    expect(store.tree.size).to.equal(1);
    await publisher.now();
    rig.ms += STALE_MS - 1;
    await publisher.now();
    expect(publisher.stalled).to.equal(undefined);
    rig.ms += 1;
    await publisher.now();
    expect(publisher.stalled).to.equal('the log has published 2 entries, and there are 1');
    expect(rig.size).to.equal(2);
  });

  it('does not stall if the entries reappear', async () => {
    const rig = new PublisherRig();
    await rig.publish(2);
    const [, newest] = rig.logs.frames(SERVICE_LOG_ID);
    rig.logs.lose(SERVICE_LOG_ID, 1);
    const { store, publisher } = await rig.coordinator();
    await publisher.now();
    rig.logs.writeAs(SERVICE_LOG_ID, newest!);
    rig.ms += STALE_MS;
    await publisher.now();
    expect([publisher.stalled, store.tree.size]).to.deep.equal([undefined, 2]);
  });

  it('also compares with the witnessed checkpoint, since the newest one may be lost', async () => {
    const rig = new PublisherRig();
    await rig.publish(1);
    await rig.published.publish('witnessed', rig.published.checkpoint('newest')!);
    await rig.bucket.delete('newest');
    rig.logs.lose(SERVICE_LOG_ID, 0);
    const { publisher } = await rig.coordinator();
    await publisher.now();
    rig.ms += STALE_MS;
    await publisher.now();
    expect(publisher.stalled).to.equal('the log has published 1 entry, and there are 0');
  });

  it('signs nothing more once a returning witness shows that entries are lost', async () => {
    const rig = new PublisherRig();
    const witness = new WitnessServer(rig.key);
    await witness.come();
    try {
      rig.policy = policyOf(witness.line);
      await rig.publish(3);
      expect(rig.size).to.equal(3);
      rig.logs.lose(SERVICE_LOG_ID, 0);
      await rig.bucket.delete('newest');
      await witness.go();
      const { store, publisher } = await rig.coordinator();
      await store.append([entry(9)], Number.POSITIVE_INFINITY);
      await publisher.now();
      expect([rig.size, publisher.isBehind]).to.deep.equal([1, false]);
      await witness.come();
      await store.append([entry(8)], Number.POSITIVE_INFINITY);
      // The witness is asked again after a while.
      expect(await rig.untilStalled(publisher)).to.equal('the log has signed, as w1 shows, 3 entries, and there are 2');
      expect(rig.size, 'what was signed before it was seen').to.be.at.most(2);
    } finally {
      await witness.go();
    }
  });

  it('stalls at once if other entries are in their place', async () => {
    const rig = new PublisherRig();
    await rig.publish(1);
    rig.logs.lose(SERVICE_LOG_ID, 0);
    const { store, publisher } = await rig.coordinator();
    await store.append([entry(9)], Number.POSITIVE_INFINITY);
    await publisher.now();
    expect(publisher.stalled).to.equal('the log has published other entries among the first 1');
  });
});
