/**
 * A small data folder with one byte changed, or one file cut off there. Data that do not verify are never served. They
 * quarantine only their collection or are set aside, are reported, and stay for inspection. This file starts whole
 * services with HTTP over a hundred such folders; `damageBytes.test.ts` and `damageStart.long.test.ts` cover every byte.
 */
import { cp, mkdtemp, readdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Config } from '../../config/config.js';
import { loadConfig } from '../../config/load.js';
import { type RunningCoordinator, runCoordinator } from '../../coordinator/coordinator.js';
import { runShard } from '../../shard/shard.js';
import { BUCKETS } from '../../shared/bucket/buckets.js';
import { systemClock, systemEntropy } from '../../shared/clock.js';
import { silentLogger } from '../../shared/logger.js';
import { openStandalone } from '../../shared/platform/standalonePlatform.js';
import { createKey } from '../../shared/registry/keys.js';
import { eventually } from '../support/expectations.js';
import { Client } from '../support/launch/client.js';
import { seededRandom, testSeed } from '../support/model/random.js';

/** `damageBytes.test.ts` covers the bytes; here whole services start. */
const CASES_PER_FILE = 2;
/** They are many, and have tests of their own for every byte. */
const CASES_PER_REGISTRY_FILE = 1;
const HURT = 'hurt';
const WHOLE = 'whole';
/** Files whose damage may refuse a start: without them, collections and their owners are unknown. */
const NEEDED_TO_START = /^(registry|master\.key|signing\.key)/;

const casesOf = (file: string): number => (file.startsWith('registry') ? CASES_PER_REGISTRY_FILE : CASES_PER_FILE);

interface Node {
  readonly client: Client;
  stop(): Promise<void>;
}

class Folder {
  private constructor(
    readonly path: string,
    private readonly original: string,
    private readonly key: string,
  ) {}

  static async make(): Promise<Folder> {
    const base = await mkdtemp(join(tmpdir(), 'vouch-damage-'));
    const original = join(base, 'original');
    const key = await fill(original);
    return new Folder(join(base, 'data'), original, key);
  }

  async files(): Promise<string[]> {
    const entries = await readdir(this.original, { recursive: true, withFileTypes: true });
    const paths = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
    return paths.map((path) => path.slice(this.original.length + 1)).sort();
  }

  read(file: string): Promise<Buffer> {
    return readFile(join(this.original, file));
  }

  /** Restores the original folder. */
  async restore(): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
    await cp(this.original, this.path, { recursive: true });
  }

  start(): Promise<Node> {
    return start(this.path, this.key);
  }

  /** Whether some file contains these bytes. */
  async has(bytes: Buffer): Promise<boolean> {
    const entries = await readdir(this.path, { recursive: true, withFileTypes: true });
    for (const entry of entries) {
      if (!entry.isFile()) continue;
      // The service may have renamed a file that it is rewriting.
      const content = await readFile(join(entry.parentPath, entry.name)).catch(() => undefined);
      if (content?.includes(bytes)) return true;
    }
    return false;
  }

  async remove(): Promise<void> {
    await rm(join(this.path, '..'), { recursive: true, force: true });
  }
}

const configOf = (dataDir: string): Config =>
  loadConfig(
    {},
    {
      mode: 'standalone',
      http: { port: 0 },
      dataDir,
      rateLimits: 'off',
      snapshots: { everyBytes: 1 },
      placement: { heartbeatMs: 20 },
    },
  );

async function start(dataDir: string, key: string): Promise<Node> {
  const config = configOf(dataDir);
  const logger = silentLogger;
  const platform = await openStandalone({ dataDir, logger });
  const stops: (() => Promise<void>)[] = [() => platform.close()];
  const stop = async (): Promise<void> => {
    for (const end of stops.reverse()) await end();
  };
  try {
    const shard = await runShard({ config, name: 's1', platform, logger });
    stops.push(() => shard.stop());
    const coordinator: RunningCoordinator = await runCoordinator({ config, platform, logger });
    stops.push(() => coordinator.stop());
    return { client: new Client(coordinator.url, key), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Two collections with all kinds of content, and a snapshot. Returns a key. */
async function fill(dataDir: string): Promise<string> {
  const platform = await openStandalone({ dataDir, logger: silentLogger });
  const keys = await platform.bucket(BUCKETS.keys);
  const { key } = await createKey(keys, { project: 'p', scope: 'read_write' }, systemClock, systemEntropy);
  await platform.close();
  const { client, stop } = await start(dataDir, key);
  const done = async (answer: Promise<{ readonly status: number; readonly text: string }>): Promise<void> => {
    const { status, text } = await answer;
    expect(status, text).to.be.below(300);
  };
  for (const name of [HURT, WHOLE]) {
    const collection = name;
    await done(client.post('/v1/namespaces', { name, dimension: 2, metric: 'squared_l2' }));
    const metadata = [...Buffer.from('{"kind":"a"}')];
    await done(client.post('/v1/records', { collection, values: [1, 2], metadata, text: 'one', tag: 3 }));
    await done(
      client.post('/v1/vectors/batch-insert', {
        collection,
        batch: [
          [3, 4],
          [5, 6],
          [7, 8],
        ],
      }),
    ); // prettier-ignore
    await done(client.post('/v1/records/encrypted', { collection, payload: 'c2VjcmV0' }));
    await done(client.post('/v1/graph/node', { collection, kind: 1, record_id: 1 }));
    await done(client.post('/v1/soft-delete', { collection, id: 2 }));
    await done(client.post('/v1/delete', { collection, id: 3 }));
  }
  await eventually('snapshots exist', async () => (await snapshotsIn(dataDir)) >= 2);
  await stop();
  return key;
}

async function snapshotsIn(dataDir: string): Promise<number> {
  const entries = await readdir(join(dataDir, 'snapshots'), { recursive: true });
  return entries.filter((path) => path.endsWith('.snapshot')).length;
}

/** Every visible part of a collection, each answer as text; undefined if it is refused. */
async function seen(client: Client, collection: string): Promise<(string | undefined)[]> {
  const answers = await Promise.all([
    client.get(`/v1/records/encrypted/5?collection=${collection}`),
    client.get(`/v1/proof/state?collection=${collection}`),
    client.post('/v1/search', { collection, query: [0, 0], k: 10, query_text: 'one', decay_half_life_secs: 1e12 }),
    client.post('/v1/search', { collection, query: [0, 0], k: 10, as_of_log_index: 2 }),
    client.get(`/v1/records/1?collection=${collection}`),
    client.get(`/v1/graph/nodes?collection=${collection}`),
    client.get(`/v1/proof/receipt?collection=${collection}&sequence=3`),
    client.get(`/v1/timeline?collection=${collection}`),
  ]);
  return answers.map(({ status, body, text }) => {
    if (status === 200) return text.replace(/"age_secs":\d+/g, '').replace(/"decay_factor":[\d.e-]+/g, '');
    expect([status, body?.code], body?.error).to.deep.equal([500, 'internal_error']);
    expect(body.error).to.match(new RegExp(`"${collection}"|collection ${collection === HURT ? 1 : 2}\\b`));
    return undefined;
  });
}

describe('a data folder with one byte changed, or cut off there', function () {
  this.timeout(600_000);
  let folder: Folder;
  let good: Record<string, (string | undefined)[]>;

  before(async () => {
    folder = await Folder.make();
    await folder.restore();
    const { client, stop } = await folder.start();
    good = { [HURT]: await seen(client, HURT), [WHOLE]: await seen(client, WHOLE) };
    await stop();
    expect([...good[HURT]!, ...good[WHOLE]!]).not.to.include(undefined);
  });
  after(() => folder?.remove());

  /** Outcome: served as before, only that collection refused, or no start at all. */
  async function outcome(file: string): Promise<'served' | 'refused' | 'not started'> {
    let node: Node;
    try {
      node = await folder.start();
    } catch (error) {
      expect(file, (error as Error).message).to.match(NEEDED_TO_START);
      return 'not started';
    }
    try {
      const refused: string[] = [];
      for (const name of [HURT, WHOLE]) {
        const answers = await seen(node.client, name);
        for (const [i, answer] of answers.entries())
          if (answer === undefined) refused.push(file === 'master.key' && i === 0 ? 'encrypted records' : name);
          else expect(answer).to.equal(good[name]![i]);
      }
      if (refused.length === 0) return 'served';
      expect([...new Set(refused)], 'refused collections').to.have.length(1);
      if (file !== 'master.key')
        await eventually(
          'the damage is reported',
          async () => (await node.client.get('/health')).body.damaged !== undefined,
        );
      return 'refused';
    } finally {
      await node.stop();
    }
  }

  it('never serves wrong data', async () => {
    const random = seededRandom(testSeed());
    const outcomes: Record<string, number> = {};
    const startedMs = systemClock.monotonicMs();
    let cases = 0;
    for (const file of await folder.files()) {
      // A start overwrites the previous process's note of openings.
      if (/^(lock|logs|openings\.note)/.test(file)) continue;
      const bytes = await folder.read(file);

      for (let turn = 0; turn < casesOf(file); turn++)
        for (const way of ['changed', 'cut off'] as const) {
          const at = random.int(bytes.length);
          await folder.restore();
          const path = join(folder.path, file);
          const bent = way === 'changed' ? Buffer.from(bytes) : bytes.subarray(0, at);
          if (way === 'changed') bent[at]! ^= 1 << random.int(8);
          await (way === 'changed' ? writeFile(path, bent) : truncate(path, at));
          const what = `${file} ${way} at ${at}`;
          const came = await outcome(file).catch((error: Error) => {
            throw new Error(`${what}: ${error.message}`, { cause: error });
          });
          const kind = file.split('/')[0]!;
          outcomes[`${kind} ${came}`] = (outcomes[`${kind} ${came}`] ?? 0) + 1;
          expect(await folder.has(bent), `${what}: the file is gone`).to.equal(true);
          cases++;
        }
    }
    console.log(`      ${cases} cases in ${Math.round(systemClock.monotonicMs() - startedMs)} ms`, outcomes);
  });

  it('with a damaged key in the vault serves the collection again once the key is shredded', async () => {
    await folder.restore();
    const vault = (await folder.files()).filter((file) => /^vault\/.*[0-9a-f]{32}$/.test(file));
    const keyId = JSON.parse(good[HURT]![0]!).key_id as string;
    const file = vault.find((path) => path.endsWith(keyId))!;
    const bent = await folder.read(file);
    bent[bent.length >> 1]! ^= 1;
    await writeFile(join(folder.path, file), bent);
    const { client, stop } = await folder.start();
    try {
      expect((await seen(client, HURT))[0]).to.equal(undefined);
      const reported = async (): Promise<{ part: string }[]> => (await client.get('/health')).body.damaged ?? [];
      await eventually('the damage is reported', async () => (await reported()).some(({ part }) => part === 'vault'));
      expect((await client.delete(`/v1/crypto/shred/${keyId}`)).status).to.equal(200);
      expect(await folder.has(bent)).to.equal(false);
      const { status, body } = await client.get(`/v1/records/encrypted/5?collection=${HURT}`);
      expect([status, body.code]).to.deep.equal([410, 'record_shredded']);
      const insert = (values: number[]) => client.post('/v1/records', { collection: HURT, values });
      expect((await insert([1, 1])).status).to.equal(200);
      expect((await seen(client, WHOLE))[0]).to.equal(good[WHOLE]![0]);
      await eventually('the damage is no longer reported', async () => (await reported()).length === 0);
    } finally {
      await stop();
    }
  });

  it('without a log reports it, accepts no writes for it, and serves it once restored', async () => {
    for (const withSnapshots of [true, false]) {
      await folder.restore();
      const log = join(folder.path, 'collections', '1');
      const aside = join(folder.path, '..', 'aside');
      await rename(log, aside);
      if (!withSnapshots) await rm(join(folder.path, 'snapshots'), { recursive: true });
      const lost = await folder.start();
      try {
        expect(new Set(await seen(lost.client, HURT))).to.deep.equal(new Set([undefined]));
        const { status, body } = await lost.client.post('/v1/records', { collection: HURT, values: [1, 1] });
        expect([status, body.code]).to.deep.equal([500, 'internal_error']);
        expect(body.error).to.contain('it is empty, but ');
        await eventually('the damage is reported', async () => {
          const { damaged = [] } = (await lost.client.get('/health')).body;
          return damaged.length === 1 && damaged[0].part === 'log' && damaged[0].collection_id === 1;
        });
        expect(await seen(lost.client, WHOLE)).to.deep.equal(good[WHOLE]);
      } finally {
        await lost.stop();
      }
      await rename(aside, log);
      const back = await folder.start();
      expect(await seen(back.client, HURT)).to.deep.equal(good[HURT]);
      await back.stop();
    }
  });
});
