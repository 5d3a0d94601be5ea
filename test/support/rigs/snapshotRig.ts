/** A collection over local logs with snapshots, opened and closed at will. */
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { VectorMemory } from '../../../shard/kernel/vectorMemory.js';
import { snapshotPath } from '../../../shard/snapshot/folder.js';
import { type OpenState, openState } from '../../../shard/snapshot/openState.js';
import { writeSnapshot } from '../../../shard/snapshot/writeSnapshot.js';
import { systemClock } from '../../../shared/clock.js';
import { LocalLogs } from '../../../shared/log/segments.js';
import type { Results } from '../../../shared/protocol/calls.js';
import { samplesNamed } from '../launch/metricSamples.js';
import { configOf, Engine, soon, type TestCollection } from './engine.js';
import { MemoryVault } from './memoryVault.js';
import { snapshotsIn, type TestSnapshots } from './snapshots.js';

/** Size of the collection's dedup window. */
export const WINDOW = 12;
export const config = configOf(7);
export const noRest = async (): Promise<void> => {};

export interface RigOptions {
  readonly everyBytes?: number;
  readonly keep?: number;
  readonly dedupWindow?: number;
}

export class SnapshotRig {
  readonly #vault = new MemoryVault();
  readonly #others: (() => Promise<unknown>)[] = [];
  #engine!: Engine;
  /** The currently open collection. */
  collection!: TestCollection;
  snapshots!: TestSnapshots;

  private constructor(
    private readonly folder: string,
    readonly logs: LocalLogs,
  ) {}

  static async start(): Promise<SnapshotRig> {
    const folder = await mkdtemp(join(tmpdir(), 'vouch-snapshots-'));
    const rig = new SnapshotRig(folder, await LocalLogs.open({ folder: join(folder, 'logs') }));
    await rig.open();
    return rig;
  }

  async stop(): Promise<void> {
    await this.close();
    for (const end of this.#others.splice(0)) await end();
    await this.logs.close();
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Folder of all collections. */
  get shardFolder(): string {
    return join(this.folder, 'snapshots');
  }

  get ownFolder(): string {
    return join(this.shardFolder, String(config.id));
  }

  async open(options: RigOptions = {}): Promise<void> {
    this.snapshots = await snapshotsIn(this.shardFolder, options);
    const dedupWindow = options.dedupWindow ?? WINDOW;
    this.#engine = new Engine(this.logs, { dedupWindow, vault: this.#vault, snapshots: this.snapshots });
    this.collection = this.#engine.host(config);
  }

  async close({ keep }: { keep: boolean } = { keep: true }): Promise<void> {
    await this.collection.hosted.close({ keep });
    await this.#engine.context.pasts.end();
    await this.snapshots.threads.close();
  }

  async reopen(options: RigOptions = {}): Promise<void> {
    await this.close();
    await this.open(options);
  }

  /** Another shard's view of the same log, opened without a snapshot; closed with the rig. */
  replayed(): TestCollection {
    const other = new Engine(this.logs, { dedupWindow: WINDOW, vault: this.#vault });
    const collection = other.host(config);
    this.#others.push(async () => {
      await collection.hosted.close({ keep: true });
      await other.context.pasts.end();
    });
    return collection;
  }

  /** State of the log now; the caller destroys its vectors. */
  async state(snapshots?: TestSnapshots): Promise<OpenState> {
    const { logs } = this;
    const log = await logs.open(config.id);
    const memory = new VectorMemory();
    const opened = await openState(config, log, { memory, dedupWindow: WINDOW, clock: systemClock, logs, snapshots });
    await log.close();
    return opened;
  }

  /** Makes a snapshot of the current log. Returns its path. */
  async snapshot(change: (opened: OpenState) => void = () => undefined, chunkBytes?: number): Promise<string> {
    const opened = await this.state();
    change(opened);
    const { state, journal } = opened;
    const path = snapshotPath(this.ownFolder, journal.sequence);
    await mkdir(dirname(path), { recursive: true });
    const about = { collectionId: config.id, madeAtMs: 1_700_000_000_000 };
    await writeSnapshot(path, { ...about, state, history: journal.history, describedBytes: 1 }, noRest, chunkBytes);
    state.vectors.destroy();
    return path;
  }

  async sequence(): Promise<number> {
    return ((await this.collection.hosted.run({ op: 'describe' }, soon())) as Results['describe']).sequence;
  }

  async stateHash(): Promise<string> {
    const { stateHash } = (await this.collection.hosted.run({ op: 'proofState' }, soon())) as Results['proofState'];
    return Buffer.from(stateHash).toString('hex');
  }

  /** Names in the collection's folder. */
  async names(): Promise<string[]> {
    return (await readdir(this.ownFolder).catch(() => [])).sort();
  }

  /** File from which the collection was last opened. */
  async openedFrom(): Promise<string | undefined> {
    const samples = samplesNamed('vouch_open_seconds_count', await this.snapshots.metrics.texts());
    return samples.find(({ value }) => value > 0)?.labels.from;
  }
}
