/** What the publisher of the service log takes for a log that was rolled back, and what for a reading that is behind. */
import { generateKeyPairSync } from 'node:crypto';
import { expect } from 'chai';
import { deletionEntry } from '../../../../coordinator/serviceLog/entry.js';
import { LogStore } from '../../../../coordinator/serviceLog/logStore.js';
import { Published } from '../../../../coordinator/serviceLog/published.js';
import { Publisher } from '../../../../coordinator/serviceLog/publisher.js';
import { serveWitness } from '../../../../scripts/witness/server.js';
import { Witness } from '../../../../scripts/witness/witness.js';
import { MemoryBucket } from '../../../../shared/bucket/memory.js';
import { type EventLog, SERVICE_LOG_ID } from '../../../../shared/log/eventLog.js';
import { silentLogger } from '../../../../shared/logger.js';
import { Metrics } from '../../../../shared/metrics/metrics.js';
import { signerOf } from '../../../../shared/signing/signer.js';
import {
  COSIGNATURE,
  ED25519,
  formatVerifierKey,
  type Policy,
  parsePolicy,
  type VerifierKey,
  verifierKey,
} from '../../../../verifier/index.js';
import { ScriptedLogs } from '../../../support/rigs/scriptedLogs.js';

const STALE_MS = 12_000;
const TIME_MS = 1_700_000_000_000;

const entry = (i: number): Uint8Array => deletionEntry(i, i.toString(16).padStart(64, '0'), TIME_MS + i);

/** A log in servers that may be behind, and coordinators that publish it one after another. */
class Rig {
  readonly logs = new ScriptedLogs();
  readonly bucket: MemoryBucket;
  readonly published: Published;
  ms = 0;
  readonly #clock = { nowMs: () => TIME_MS + this.ms, monotonicMs: () => this.ms };
  readonly #signer = signerOf(generateKeyPairSync('ed25519').privateKey);
  readonly key = verifierKey('test', ED25519, this.#signer.publicKey);
  readonly #metrics = new Metrics('coordinator');
  policy: Policy | undefined;

  constructor() {
    this.bucket = new MemoryBucket({ logger: silentLogger, clock: this.#clock });
    this.published = new Published(this.bucket);
  }

  /** One that has read what there is, and follows what is published. */
  async coordinator(): Promise<{ readonly store: LogStore; readonly publisher: Publisher }> {
    this.published.stop();
    await this.published.start();
    const opened = await this.logs.open(SERVICE_LOG_ID);
    const log: EventLog = { ...opened, staleMs: STALE_MS };
    const store = new LogStore(log, this.#clock, () => 0);
    await store.refresh();
    const publisher = new Publisher({
      ...{ store, published: this.published, policy: this.policy, leads: () => true },
      logKey: () => ({ key: this.key, signer: this.#signer }),
      ...{ metrics: this.#metrics, clock: this.#clock, logger: silentLogger },
    });
    return { store, publisher };
  }

  /** The log has entries 1 to `count`, and they are published. */
  async publish(count: number): Promise<void> {
    const { store, publisher } = await this.coordinator();
    for (let i = 1; i <= count; i++) await store.append([entry(i)], Number.POSITIVE_INFINITY);
    await publisher.now();
  }

  get size(): number | undefined {
    return this.published.checkpoint('newest')?.size;
  }
}

/** One that can be away. */
class WitnessServer {
  readonly #witness: Witness;
  readonly #key: VerifierKey;
  #server: Awaited<ReturnType<typeof serveWitness>> | undefined;
  #port = 0;

  constructor(log: VerifierKey) {
    const signer = signerOf(generateKeyPairSync('ed25519').privateKey);
    this.#key = verifierKey('w1', COSIGNATURE, signer.publicKey);
    const clock = { nowMs: () => TIME_MS, monotonicMs: () => 0 };
    this.#witness = new Witness({
      ...{ key: this.#key, signer, logs: [log], seen: new Map(), save: async () => {}, clock, refused: () => {} },
    });
  }

  async come(): Promise<void> {
    this.#server = await serveWitness(this.#witness, '127.0.0.1', this.#port);
    this.#port = Number(new URL(this.#server.url).port);
  }

  async go(): Promise<void> {
    await this.#server?.stop();
    this.#server = undefined;
  }

  get policy(): Policy {
    return parsePolicy(`witness w1 ${formatVerifierKey(this.#key)} http://127.0.0.1:${this.#port}\nquorum none\n`);
  }
}

describe('the publisher of the service log', () => {
  it('reads what another has written before it compares', async () => {
    const rig = new Rig();
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

  it('stalls where entries are gone for longer than a server may be behind, and signs nothing before', async () => {
    const rig = new Rig();
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

  it('does not stall where the entries are there again', async () => {
    const rig = new Rig();
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

  it('compares with what has a quorum too: the newest may be lost without it', async () => {
    const rig = new Rig();
    await rig.publish(1);
    await rig.published.publish('witnessed', rig.published.checkpoint('newest')!);
    await rig.bucket.delete('newest');
    rig.logs.lose(SERVICE_LOG_ID, 0);
    const { publisher } = await rig.coordinator();
    await publisher.now();
    rig.ms += STALE_MS;
    await publisher.now();
    expect(publisher.stalled).to.equal('the log has published 1 entries, and there are 0');
  });

  it('signs nothing more from when a witness that was away shows what is lost', async () => {
    const rig = new Rig();
    const witness = new WitnessServer(rig.key);
    await witness.come();
    try {
      rig.policy = witness.policy;
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
      // It is asked again after a while.
      for (; rig.ms < 10 * STALE_MS && publisher.stalled === undefined; rig.ms += 1_000) {
        await publisher.now();
        if (publisher.isBehind) expect(rig.size, 'what was signed before it was seen').to.be.at.most(2);
      }
      expect(publisher.stalled).to.equal('the log has signed, as w1 shows, 3 entries, and there are 2');
    } finally {
      await witness.go();
    }
  });

  it('stalls at once where other entries are there', async () => {
    const rig = new Rig();
    await rig.publish(1);
    rig.logs.lose(SERVICE_LOG_ID, 0);
    const { store, publisher } = await rig.coordinator();
    await store.append([entry(9)], Number.POSITIVE_INFINITY);
    await publisher.now();
    expect(publisher.stalled).to.equal('the log has published other entries among the first 1');
  });
});
