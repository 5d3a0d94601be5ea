/**
 * A data folder of many small collections. Collections of one kind are alike: equal writes gave them files of equal
 * names and lengths. So one start can test as many damages as there are collections.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { countUnknownKey } from '../../../coordinator/cluster/deletion/unknownKeys.js';
import { buildGeneration } from '../../../shard/index/builds/buildGeneration.js';
import { freeze } from '../../../shard/index/builds/frozenRows.js';
import { BuildProgress } from '../../../shard/index/progress.js';
import { VectorMemory } from '../../../shard/kernel/vectorMemory.js';
import { openState } from '../../../shard/snapshot/openState.js';
import { BUCKETS } from '../../../shared/bucket/buckets.js';
import { systemClock } from '../../../shared/clock.js';
import { LocalLogs } from '../../../shared/log/segments.js';
import type { IndexKind, IndexSpec } from '../../../shared/model/indexSpec.js';
import type { WriteCall } from '../../../shared/protocol/writes.js';
import { projectToHex } from '../../../shared/vault/entryName.js';
import { eventually } from '../expectations.js';
import { batchOf, fixed, requestIdOf } from './engine.js';
import { FolderService, type FolderServiceOptions, SHARD_FOLDER } from './folderService.js';

/**
 * All kinds have saved indexes. `replayed` also has a log of several segments, `restored` a snapshot besides, `plain`
 * one commit.
 */
export type AlikeKind = 'replayed' | 'restored' | 'plain';
const INDEXES: Readonly<Record<AlikeKind, IndexSpec>> = {
  // An index with few links is small.
  replayed: { kind: 'hnsw', parameters: { m: 2 } },
  restored: { kind: 'bq', parameters: {} },
  plain: { kind: 'ivf', parameters: {} },
};
export const ALIKE_KINDS = Object.keys(INDEXES) as AlikeKind[];

/** One collection, in a project of the same name. */
export interface Alike {
  readonly kind: AlikeKind;
  readonly id: number;
  readonly name: string;
}

/** Ids from here to the last have equally many digits. */
const FIRST_ID = 1_001;
/** A segment holds one frame. */
const SEGMENT_BYTES = 300;

const text = (value: string): Uint8Array => Buffer.from(value);

/** Writes before the snapshot. */
const BEGUN: readonly WriteCall[] = [
  {
    ...{ op: 'insertBatch', count: 3, vectors: Buffer.concat([fixed(1), fixed(2), fixed(3)]) },
    ...{
      metadata: [text('{"a":1}'), null, null],
      texts: [Buffer.from('one'), null, null],
      requestIds: [requestIdOf(1), null, null],
    },
  },
  { op: 'insertEncrypted', payload: text('abc'), keyId: null, tag: 0, requestId: null },
];
export const ENCRYPTED_ID = 4;
/** Writes after the snapshot. */
const ENDED: readonly WriteCall[] = [{ op: 'softDelete', id: 3 }];
const PLAIN: readonly WriteCall[] = [batchOf([fixed(1), fixed(2)])];
const DESCRIBE = { op: 'describe' } as const;

export class AlikeFolder {
  readonly #filesOf: ReadonlyMap<Alike, readonly string[]>;

  private constructor(
    readonly path: string,
    readonly collections: readonly Alike[],
    private readonly original: ReadonlyMap<string, Buffer>,
  ) {
    const isIn = (file: string, collection: Alike): boolean =>
      foldersOf(collection).some((folder) => file.startsWith(`${folder}/`));
    this.#filesOf = new Map(collections.map((one) => [one, this.files.filter((file) => isIn(file, one))]));
  }

  /** `counts`: number of collections per kind. */
  static async make(counts: Readonly<Record<AlikeKind, number>>): Promise<AlikeFolder> {
    const path = mkdtempSync(join(tmpdir(), 'vouch-alike-'));
    const collections = ALIKE_KINDS.flatMap((kind) => Array<AlikeKind>(counts[kind]).fill(kind)).map((kind, i) => {
      const id = FIRST_ID + i;
      return { kind, id, name: `c${id}` };
    });
    await fill(path, collections);
    return new AlikeFolder(path, collections, contentBelow(path));
  }

  /** This folder with its current files as the originals. */
  asItIs(): AlikeFolder {
    return new AlikeFolder(this.path, this.collections, contentBelow(this.path));
  }

  start(options?: FolderServiceOptions): Promise<FolderService> {
    return FolderService.start(this.path, options);
  }

  /** All files of the folder. */
  get files(): readonly string[] {
    return [...this.original.keys()];
  }

  filesOf(collection: Alike): readonly string[] {
    return this.#filesOf.get(collection)!;
  }

  /** Original content of the file. */
  contentOf(file: string): Buffer {
    return this.original.get(file)!;
  }

  /** Current content of the file; undefined without the file. */
  now(file: string): Buffer | undefined {
    try {
      return readFileSync(join(this.path, file));
    } catch {
      return undefined;
    }
  }

  write(file: string, content: Uint8Array): void {
    writeFileSync(join(this.path, file), content);
  }

  /** Restores the folder of the collection that this file belongs to. */
  restore(collection: Alike, file: string): void {
    const folder = foldersOf(collection).find((one) => file.startsWith(`${one}/`))!;
    const kept = this.filesOf(collection).filter((other) => other.startsWith(`${folder}/`));
    mkdirSync(join(this.path, folder), { recursive: true });
    // Correct files stay: rewriting everything takes five times as long.
    for (const entry of readdirSync(join(this.path, folder), { recursive: true, encoding: 'utf8' })) {
      const path = join(folder, entry);
      if (!kept.some((other) => other === path || other.startsWith(`${path}/`)))
        rmSync(join(this.path, path), { recursive: true, force: true });
    }
    for (const other of kept) {
      if (this.now(other)?.equals(this.contentOf(other))) continue;
      mkdirSync(dirname(join(this.path, other)), { recursive: true });
      this.write(other, this.contentOf(other));
    }
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

const foldersOf = ({ id, name }: Alike): readonly string[] => [
  `collections/${id}`,
  `snapshots/${SHARD_FOLDER}/${id}`,
  `indexes/${SHARD_FOLDER}/${id}`,
  `vault/${projectToHex(name)}`,
];

/** Relative paths. */
function filesBelow(path: string): string[] {
  const entries = readdirSync(path, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  return files.map((file) => file.slice(path.length + 1)).sort();
}

const contentBelow = (path: string): ReadonlyMap<string, Buffer> =>
  new Map(filesBelow(path).map((file) => [file, readFileSync(join(path, file))]));

async function fill(path: string, collections: readonly Alike[]): Promise<void> {
  const ofKind = (...kinds: AlikeKind[]): Alike[] => collections.filter(({ kind }) => kinds.includes(kind));
  const beginning = await FolderService.start(path, { segmentBytes: SEGMENT_BYTES });
  const ids = await beginning.platform.bucket(BUCKETS.ids);
  await ids.next('collections', FIRST_ID - 2);
  await countUnknownKey(await beginning.platform.bucket(BUCKETS.counters), 1, 'any');
  for (const { kind, name } of collections) {
    const collection = await beginning.create(name, { name, dimension: 1, index: 'brute' });
    await beginning.call(collection, { op: 'configureIndex', spec: INDEXES[kind] });
  }
  await write(beginning, ofKind('replayed', 'restored'), BEGUN);
  await write(beginning, ofKind('plain'), PLAIN);
  await beginning.stop();

  // A snapshot is due at the opening, and none later.
  const snapshotting = await FolderService.start(path, { snapshots: { everyBytes: 1 } });
  for (const { name } of ofKind('restored')) await snapshotting.call(await snapshotting.find(name, name), DESCRIBE);
  const wanted = ofKind('restored').length;
  const snapshots = (): number => filesBelow(path).filter((file) => file.endsWith('.snapshot')).length;
  await eventually(`${wanted} snapshots exist`, () => snapshots() === wanted);
  await snapshotting.stop();

  const ending = await FolderService.start(path, { segmentBytes: SEGMENT_BYTES });
  await write(ending, ofKind('replayed', 'restored'), ENDED);
  const configs = await Promise.all(collections.map(({ name }) => ending.find(name, name)));
  await ending.stop();
  const logs = await LocalLogs.open({ folder: join(path, 'collections') });
  for (const config of configs) await saveGeneration(path, logs, config);
  await logs.close();
}

async function write(
  service: FolderService,
  collections: readonly Alike[],
  calls: readonly WriteCall[],
): Promise<void> {
  await Promise.all(
    collections.map(async ({ name }) => {
      const collection = await service.find(name, name);
      for (const call of calls) await service.call(collection, call);
    }),
  );
}

/**
 * Saves a generation by hand: a service builds none for so few rows, because an exact scan is faster. It serves from an
 * existing one.
 */
async function saveGeneration(
  path: string,
  logs: LocalLogs,
  config: Awaited<ReturnType<FolderService['find']>>,
): Promise<void> {
  const log = await logs.open(config.id);
  const { state, journal } = await openState(config, log, {
    memory: new VectorMemory(),
    dedupWindow: 1,
    clock: systemClock,
    logs,
  });
  const folder = join(path, 'indexes', SHARD_FOLDER, String(config.id), 'g1');
  mkdirSync(folder, { recursive: true });
  const { id: collectionId, createdAtMs, dimension } = config;
  const facts = {
    ...{ collectionId, createdAtMs, dimension, number: 1, kind: config.index as IndexKind },
    parameters: config.indexParameters,
    ...{ sequence: journal.sequence, trainedRows: state.vectors.liveCount },
  };
  const order = { facts, strideBytes: state.vectors.shape.strideBytes, blocks: freeze(state.vectors), folder };
  const replaced = new Float64Array(0);
  await buildGeneration({ ...order, baseFolder: undefined, replaced }, new BuildProgress());
  state.vectors.destroy();
  await log.close();
}
