// Covers: shard/vault/contentKeys.ts, shard/state/recordsUnderKeys.ts, shard/state/plannedContents.ts, shard/state/planStated.ts
/** Random writes of records with and without keys, compared with a model, with each replay, and with the verifier. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { SnapshotServices } from '../../../../shard/snapshot/snapshotServices.js';
import { type Clock, systemClock } from '../../../../shared/clock.js';
import type { VouchError } from '../../../../shared/errors/errors.js';
import { toHex } from '../../../../shared/hashing/hash.js';
import type { ReadCall, Results } from '../../../../shared/protocol/calls.js';
import { verifyFrames } from '../../../../verifier/log.js';
import { eventually } from '../../../support/expectations.js';
import { samplesNamed } from '../../../support/launch/metricSamples.js';
import { type SeededRandom, seededRandom, testSeed } from '../../../support/model/random.js';
import { EncryptedRig, keyOf } from '../../../support/rigs/encryptedRig.js';
import { fixed, soon } from '../../../support/rigs/engine.js';
import { snapshotsIn } from '../../../support/rigs/snapshots.js';

const ID = 3;
const KEYS = Array.from({ length: 5 }, (_, n) => keyOf(n + 1));
const NAMES = Array.from({ length: 12 }, (_, n) => `person ${n}`);
const ROUNDS = 40;
/** Fewer rounds, since each restart waits for a snapshot. */
const SNAPSHOT_ROUNDS = 15;
/** Time between two rounds. */
const STEP_MS = 250;

interface Modelled {
  id: number;
  keyId: string | null;
  value: number;
  metadata: string;
  expiresAtMs: number | null;
}

/** Moves only by `advance`. */
class SteppedClock implements Clock {
  #nowMs = systemClock.nowMs();
  nowMs = (): number => this.#nowMs;
  monotonicMs = (): number => systemClock.monotonicMs();
  advance(): void {
    this.#nowMs += STEP_MS;
  }
}

const codeOf = ({ code }: VouchError): string => code;
const idsOf = (bytes: Uint8Array): number[] => [...new Float64Array(bytes.slice().buffer)];

class Run {
  readonly #clock = new SteppedClock();
  readonly rig: EncryptedRig;
  readonly shredded = new Set<string>();
  readonly #live = new Map<string, Modelled>();
  /** Ids of the records that are or were under a key. */
  readonly #keyed = new Set<number>();
  #ids = 0;
  expired = 0;

  constructor(
    readonly random: SeededRandom,
    snapshots?: SnapshotServices,
  ) {
    this.rig = new EncryptedRig([ID], { clock: this.#clock, ...(snapshots && { snapshots }) });
  }

  async plainFirst(): Promise<void> {
    await this.rig.collection(ID).insert([7, 7]);
    await this.rig.write(ID, { op: 'delete', id: 1 });
    this.#ids = 1;
  }

  async upsert(): Promise<void> {
    const { random } = this;
    const name = random.pick(NAMES);
    const before = this.#live.get(name);
    const named = random.pick([null, null, ...KEYS]);
    const [value, metadata] = [random.int(100), JSON.stringify({ n: random.int(1_000) })];
    const expiresAtMs = random.pick([null, null, this.#clock.nowMs() + STEP_MS * (1 + random.int(4))]);
    const answer = await this.rig
      .write(ID, {
        ...{ op: 'insertBatch', count: 1, vectors: fixed(value, value), requestIds: null, externalIds: [name] },
        ...{ texts: [Buffer.from(`text ${value}`)], metadata: [Buffer.from(metadata)] },
        ...{ expiresAtMs: [expiresAtMs], ...(named !== null && { keyIds: [named] }) },
      })
      .catch(codeOf);
    if (named !== null && this.shredded.has(named)) {
      expect(answer).to.equal('validation_error');
      return;
    }
    const keyId = named ?? before?.keyId ?? null;
    const id = before?.id ?? ++this.#ids;
    const { ids, keyIds } = answer as Results['insertBatch'];
    expect([idsOf(ids), keyIds ?? [null]]).to.deep.equal([[id], [keyId]]);
    this.#live.set(name, { id, keyId, value, metadata, expiresAtMs });
    if (keyId !== null) this.#keyed.add(id);
  }

  async change(): Promise<void> {
    const name = this.random.pick(NAMES);
    const before = this.#live.get(name);
    const metadata = JSON.stringify({ n: this.random.int(1_000) });
    const op = this.random.pick(['updateMetadata', 'softDelete', 'delete'] as const);
    const call = op === 'updateMetadata' ? { op, id: name, metadata: Buffer.from(metadata) } : { op, id: name };
    const answer = await this.rig.write(ID, call).catch(codeOf);
    if (before === undefined) expect(answer).to.equal('record_not_found');
    else if (op === 'updateMetadata') before.metadata = metadata;
    else this.#live.delete(name);
  }

  async shred(): Promise<void> {
    const keyId = this.random.pick(KEYS);
    await this.rig.shred(keyId);
    this.shredded.add(keyId);
    for (const [name, record] of [...this.#live]) if (record.keyId === keyId) this.#live.delete(name);
  }

  /** Lets time pass, and records expire. */
  advance(): void {
    this.#clock.advance();
    for (const [name, { expiresAtMs }] of [...this.#live]) {
      if (expiresAtMs === null || expiresAtMs > this.#clock.nowMs()) continue;
      this.#live.delete(name);
      this.expired++;
    }
  }

  #read(call: ReadCall): Promise<unknown> {
    return this.rig.collection(ID).hosted.read(call, soon());
  }

  /** Compares reads, a search and the verifier with the model. Returns the state hash. */
  async agrees(): Promise<string> {
    for (const name of NAMES) await this.#reads(name);
    const search = { op: 'search', query: fixed(0, 0), k: 100 } as const;
    const { ids } = (await this.#read(search)) as Results['search'];
    expect(idsOf(ids)).to.have.members([...this.#live.values()].map(({ id }) => id));
    const verified = await verifyFrames(this.rig.logs.frames(ID));
    expect(verified.refusal).to.equal(undefined);
    expect(verified.records).to.include({ live: this.#live.size, encrypted: this.#keyed.size });
    const collection = this.rig.collection(ID).hosted.openCollection!;
    expect(collection.state.liveRecords).to.equal(this.#live.size);
    const { stateHash } = collection.stateHash()!;
    expect(toHex(verified.state.stateHash)).to.equal(stateHash);
    return stateHash;
  }

  async #reads(name: string): Promise<void> {
    const expected = this.#live.get(name);
    const answer = await this.#read({ op: 'get', id: name, text: true }).catch(codeOf);
    if (expected === undefined) {
      expect(answer).to.equal('record_not_found');
      return;
    }
    const { id, keyId = null, expiresAtMs, vector, metadata, text } = answer as Results['get'];
    const { value } = expected;
    expect(expiresAtMs).to.equal(expected.expiresAtMs);
    expect([id, keyId, Buffer.from(metadata!).toString(), Buffer.from(text!).toString()]).to.deep.equal([
      ...[expected.id, expected.keyId, expected.metadata, `text ${value}`],
    ]);
    expect(Buffer.compare(vector, fixed(value, value))).to.equal(0);
  }
}

describe('records under keys, compared with a model', () => {
  it('agree with it after every round of writes, in every replay, and with the verifier', async () => {
    const run = new Run(seededRandom(testSeed()));
    await agreeInEveryRound(run, ROUNDS);
    expect(run.expired).to.be.above(0);
  });

  it('agree with it if they are opened from snapshots', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'vouch-erasable-'));
    const snapshots = await snapshotsIn(folder, { everyBytes: 1 });
    try {
      const run = new Run(seededRandom(testSeed()), snapshots);
      const { rig } = run;
      await agreeInEveryRound(run, SNAPSHOT_ROUNDS, async () => {
        // A collection without a snapshot makes one of its present state.
        await rig.stop();
        await snapshots.store.removeAll(ID);
        await rig.restart();
        await eventually('a snapshot exists', async () => {
          await run.upsert();
          return (await snapshots.store.newestFirst(ID)).length > 0;
        });
      });
      const opened = samplesNamed('vouch_open_seconds_count', await snapshots.metrics.texts());
      expect(opened.find(({ labels }) => labels.from === 'snapshot')?.value).to.be.above(0);
      expect(snapshots.damages).to.deep.equal([]);
    } finally {
      await snapshots.threads.close();
      await rm(folder, { recursive: true, force: true });
    }
  });
});

/** `beforeRestart`: called before the collection is opened again. */
async function agreeInEveryRound(
  run: Run,
  rounds: number,
  beforeRestart = async (): Promise<void> => {},
): Promise<void> {
  const { random, rig } = run;
  await run.plainFirst();
  for (let round = 0; round < rounds; round++) {
    for (let write = 0; write < 8; write++) await (random.int(4) === 0 ? run.change() : run.upsert());
    if (random.int(8) === 0 || round === rounds - 5) await run.shred();
    run.advance();
    await run.agrees();
    if (random.int(4) > 0) continue;
    await beforeRestart();
    const before = await run.agrees();
    await rig.restart();
    await rig.read(ID, { op: 'describe' });
    expect(await run.agrees()).to.equal(before);
  }
  expect(run.shredded.size).to.be.above(0);
  await rig.stop();
  await rig.context.pasts.end();
}
