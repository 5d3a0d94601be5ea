// Covers: coordinator/serviceLog/publisher.ts, coordinator/serviceLog/witnessClient.ts
// Covers: coordinator/serviceLog/quorum.ts
/**
 * The publisher of the service log with witnesses that implement the standard only, and with failing ones, which do not
 * delay it.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { SERVICE_LOG_ID } from '../../../../shared/log/eventLog.js';
import { parseNote } from '../../../../verifier/index.js';
import { ALL_ODDITIES, OddServer, whileCollecting } from '../../../support/rigs/oddServer.js';
import {
  entry,
  PublisherRig,
  policyOf,
  STALE_MS,
  StandardWitness,
  strangerAt,
  WitnessServer,
} from '../../../support/rigs/publisherRig.js';

/** Returns a function that waits for the first answer of the witness. */
function onceAnswered(witness: WitnessServer): () => Promise<void> {
  const answered = new Promise<void>((resolve) => {
    witness.beforeAnswer = async () => resolve();
  });
  return () => answered;
}

describe('the publisher of the service log, with standard witnesses', () => {
  const servers: WitnessServer[] = [];
  const witness = async (rig: PublisherRig, name = 'w1'): Promise<WitnessServer> => {
    const server = new WitnessServer(rig.key, name, StandardWitness);
    servers.push(server);
    await server.come();
    return server;
  };
  afterEach(async () => {
    await Promise.all(servers.splice(0).map((server) => server.go()));
  });

  /** A log whose first `count` entries the witnesses of these names have cosigned. */
  async function witnessed(
    count: number,
    ...names: string[]
  ): Promise<{ rig: PublisherRig; witnesses: WitnessServer[] }> {
    const rig = new PublisherRig();
    const witnesses = await Promise.all(names.map((name) => witness(rig, name)));
    rig.policy = policyOf(...witnesses.map(({ line }) => line));
    await rig.publish(count);
    const cosigned = parseNote(rig.published.checkpoint('newest')!.note).signatures.slice(1);
    expect(cosigned.map(({ name }) => name).sort()).to.deep.equal([...names].sort());
    return { rig, witnesses };
  }

  it('continues a log that the witness has seen, with its cosignature', async () => {
    const { rig } = await witnessed(3, 'w1');
    const { store, publisher } = await rig.coordinator();
    await store.append([entry(4)], Number.POSITIVE_INFINITY);
    await publisher.now();
    expect([publisher.stalled, rig.size]).to.deep.equal([undefined, 4]);
    expect(parseNote(rig.published.checkpoint('newest')!.note).signatures).to.have.length(2);
  });

  it('continues a log of which the witness has cosigned more than was published', async () => {
    const { rig } = await witnessed(3, 'w1');
    const { note } = rig.published.checkpoint('newest')!;
    await rig.bucket.delete('newest');
    const { store, publisher } = await rig.coordinator();
    await store.append([entry(4)], Number.POSITIVE_INFINITY);
    await publisher.now();
    expect([publisher.stalled, rig.size]).to.deep.equal([undefined, 4]);
    expect(rig.published.checkpoint('newest')!.note).to.not.equal(note);
  });

  it('signs nothing of a log that was rolled back below a cosigned checkpoint', async () => {
    const { rig } = await witnessed(3, 'w1');
    const { publisher } = await rig.rollBackTo([1]);
    expect(await rig.untilStalled(publisher)).to.equal('w1 says that it has cosigned 3 entries, and there are 1');
    expect(rig.signed.filter((size) => size > 0)).to.deep.equal([]);
    expect(rig.size).to.equal(undefined);
  });

  it('signs nothing if the published checkpoint was rolled back with the log', async () => {
    const { rig } = await witnessed(1, 'w1');
    const before = rig.published.checkpoint('newest')!;
    await rig.publish(2);
    const { publisher } = await rig.rollBackTo([1]);
    await rig.published.publish('newest', before);
    expect(await rig.untilStalled(publisher)).to.equal('w1 says that it has cosigned 3 entries, and there are 1');
    expect([rig.signed, rig.size]).to.deep.equal([[], 1]);
  });

  for (const [entries, what] of [
    [[9, 8, 7], 'the same number of other entries'],
    [[9, 8, 7, 6, 5], 'other entries, and more of them'],
  ] as const)
    it(`publishes nothing of a log that was rolled back and has grown to ${what}`, async () => {
      const { rig } = await witnessed(3, 'w1');
      const { publisher } = await rig.rollBackTo(entries);
      const stalled = await rig.untilStalled(publisher);
      expect(stalled).to.equal('w1 says that it has cosigned other entries among the first 3');
      expect(rig.size).to.equal(undefined);
    });

  it('signs nothing more once a returning witness reports lost entries', async () => {
    const { rig, witnesses } = await witnessed(3, 'w1');
    await witnesses[0]!.go();
    const { publisher, store } = await rig.rollBackTo([1]);
    await publisher.now();
    expect(rig.size, 'no witness knows a larger log').to.equal(1);
    await witnesses[0]!.come();
    await store.append([entry(8)], Number.POSITIVE_INFINITY);
    rig.ms += 60_000;
    expect(await rig.untilStalled(publisher)).to.equal('w1 says that it has cosigned 3 entries, and there are 2');
    expect([rig.size, rig.signed.filter((size) => size > 0)]).to.deep.equal([1, [1]]);
  });

  for (const order of ['first', 'last', 'alone'] as const)
    it(`signs nothing if the one of two witnesses that knows more answers ${order}`, async () => {
      const { rig, witnesses } = await witnessed(3, 'w1');
      const [knowing, other] = [witnesses[0]!, await witness(rig, 'w2')];
      rig.policy = policyOf(other.line, knowing.line);
      // The other witness has seen nothing and cosigns any checkpoint.
      if (order === 'first') other.beforeAnswer = onceAnswered(knowing);
      if (order === 'last') knowing.beforeAnswer = onceAnswered(other);
      if (order === 'alone') await other.go();
      const { publisher } = await rig.rollBackTo([1, 2]);
      expect(await rig.untilStalled(publisher)).to.equal('w1 says that it has cosigned 3 entries, and there are 2');
      expect([rig.size, rig.signed.filter((size) => size > 0)]).to.deep.equal([undefined, []]);
    });

  it('compares again when the entries that a witness has seen reappear', async () => {
    const { rig } = await witnessed(3, 'w1');
    const frames = rig.logs.frames(SERVICE_LOG_ID);
    const lost = frames.at(-1)!;
    rig.logs.lose(SERVICE_LOG_ID, 2);
    await rig.bucket.delete('newest');
    const { publisher } = await rig.coordinator();
    await publisher.now();
    expect([publisher.isBehind, rig.size]).to.deep.equal([true, undefined]);
    rig.logs.writeAs(SERVICE_LOG_ID, lost);
    rig.ms += STALE_MS;
    await publisher.now();
    expect([publisher.stalled, publisher.isBehind, rig.size]).to.deep.equal([undefined, false, 3]);
  });
});

describe('the publisher of the service log, with a failing witness', () => {
  for (const [status, meaning] of [
    [400, 'it answers 400: no'],
    [403, 'it answers 403: it knows the log under another key: no'],
    [404, 'it answers 404: it does not know the log, or its address in the policy is wrong: no'],
    [429, 'it answers 429: no'],
    [503, 'it answers 503: no'],
  ] as const)
    it(`publishes without a witness that answers ${status}, and reports the reason`, async () => {
      const server = createServer((request, response) => {
        request.resume();
        response.writeHead(status).end('no\n');
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      try {
        const rig = new PublisherRig();
        rig.policy = policyOf(strangerAt(url));
        const { store, publisher } = await rig.coordinator();
        await store.append([entry(1)], Number.POSITIVE_INFINITY);
        await publisher.now();
        expect([rig.size, publisher.stalled]).to.deep.equal([1, undefined]);
        expect(publisher.failing).to.deep.equal([`w1 at ${url}: ${meaning}`]);
      } finally {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      }
    });

  it('publishes without witnesses that drip, stop, disconnect or send endlessly', async () => {
    const odd = await Promise.all(ALL_ODDITIES.map((oddity) => OddServer.start(oddity)));
    try {
      const rig = new PublisherRig();
      rig.policy = policyOf(...odd.map(({ url }, i) => strangerAt(url, `w${i}`)));
      const { store, publisher } = await rig.coordinator();
      await store.append([entry(1)], Number.POSITIVE_INFINITY);
      await whileCollecting(() => publisher.now());
      expect([rig.size, publisher.stalled]).to.deep.equal([1, undefined]);
      expect(publisher.failing).to.have.length(ALL_ODDITIES.length);
      for (const [i, { url }] of odd.entries()) expect(publisher.failing[i]).to.include(`w${i} at ${url}: `);
    } finally {
      await Promise.all(odd.map((server) => server.stop()));
    }
  });
});
