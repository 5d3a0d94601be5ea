/** `npm run specimen -- ARCHIVE`: makes the specimen of this version. Each is made once, and never changes. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileStore } from '../../client/node.js';
import { parseFlags, runCommand, UsageError } from '../../scripts/terminal/commandLine.js';
import { silentLogger } from '../../shared/logger.js';
import { openCluster } from '../../shared/platform/natsPlatform.js';
import { parseNote, parseTreeHead, tilePath, tileWidth } from '../../verifier/index.js';
import { runExport, succeeded } from '../support/launch/commands.js';
import { IndexedByHttp } from '../support/launch/indexClient.js';
import { type Client, type Project, Service } from '../support/launch/service.js';
import { startTestNatsCluster } from '../support/nats/natsCluster.js';
import { answered, DIMENSION, fill } from '../support/rigs/backups.js';
import { batchOf, fixed } from '../support/rigs/engine.js';
import { FolderService } from '../support/rigs/folderService.js';
import { runMonitor, WitnessedService } from '../support/rigs/witnessedService.js';
import {
  answersOf,
  COLLECTION,
  clientOf,
  INDEX_DIMENSION,
  INDEXED,
  OF_A_PROCESS,
  PROJECT,
  type StreamMessage,
} from './specimen.js';

/** Fewest rows for an index. */
const ROWS = 1_000;
const SETTINGS = { VOUCH_SNAPSHOT_EVERY_BYTES: '4096', VOUCH_SNAPSHOT_KEEP: '1' };
/** Small, so that a log has several segments. */
const SEGMENT_BYTES = 4_096;
const PAYLOAD = Buffer.from('a secret that is kept').toString('base64');
const RECORD = { collection: COLLECTION, values: [1, -0.5, 2], tag: 3, metadata: { a: 1 }, text: 'é' };

const USAGE = `npm run specimen -- ARCHIVE

Makes an archive with something of everything that this version stores: test/formats/<version>/specimen.tar.gz.
Once per version: what is made is not made again.`;

/** The folder that becomes the archive. */
class Folder {
  constructor(readonly root: string) {}

  path(name: string): string {
    return join(this.root, name);
  }

  async save(name: string, content: string | Uint8Array | object): Promise<void> {
    await mkdir(dirname(this.path(name)), { recursive: true });
    const isText = typeof content === 'string' || content instanceof Uint8Array;
    await writeFile(this.path(name), isText ? content : JSON.stringify(content));
  }
}

async function fillIndexed(service: Service, rw: Client): Promise<void> {
  const batch = Array.from({ length: ROWS }, (_, i) => [(i % 32) - 16, (i >> 5) - 16 + (i % 4) / 4]);
  for (const name of INDEXED) {
    const create = { name, dimension: INDEX_DIMENSION, metric: 'squared_l2' };
    answered(await rw.post('/v1/namespaces', create));
    answered(await rw.post('/v1/vectors/batch-insert', { collection: name, batch }));
    const indexed = new IndexedByHttp(service, rw, name);
    const parameters = name === 'hnsw' ? { m: 4 } : {};
    await indexed.configure({ type: name, parameters });
    await indexed.settled(name);
  }
}

/** Appends to the collection's log in a second segment. */
async function addSegment(dataDir: string): Promise<void> {
  const folder = await FolderService.start(dataDir, { segmentBytes: SEGMENT_BYTES });
  const collection = await folder.find(PROJECT, COLLECTION);
  for (let n = 0; n < 3; n++) await folder.call(collection, batchOf(Array(DIMENSION * 8).fill(fixed(n, 1, 2))));
  await folder.stop();
}

async function saveProofs(into: Folder, rw: Client): Promise<void> {
  const of = `collection=${COLLECTION}`;
  const ask = async (name: string, path: string): Promise<void> => into.save(name, answered(await rw.get(path)));
  const { sequence } = answered(await rw.get(`/v1/proof/state?${of}`));
  await ask('batchReceipt.json', `/v1/proof/receipt?${of}&sequence=9`);
  await ask('inclusion.json', `/v1/proof/inclusion?${of}&sequence=9`);
  await ask('consistency.json', `/v1/proof/consistency?${of}&from=5&to=${sequence}`);
  await ask('checkpoint.json', `/v1/proof/checkpoint?${of}`);
  await ask('logged.json', `/v1/proof/checkpoint?${of}&logged=true`);
}

async function saveServiceLog(into: Folder, url: string): Promise<void> {
  const read = async (path: string): Promise<Uint8Array> => {
    const answer = await fetch(`${url}/log/${path}`);
    if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
    return new Uint8Array(await answer.arrayBuffer());
  };
  const note = await read('checkpoint');
  const { size } = parseTreeHead(parseNote(Buffer.from(note).toString()).text);
  const paths = ([0, 'entries'] as const).map((level) =>
    tilePath({ level, index: 0, width: tileWidth(size, level, 0) }),
  );
  for (const path of paths) await into.save(`log/${path}`, await read(path));
  await into.save('log/checkpoint', note);
}

async function snapshotsIn(dataDir: string): Promise<number> {
  const names = await readdir(join(dataDir, 'snapshots'), { recursive: true });
  return names.filter((name) => name.endsWith('.snapshot')).length;
}

async function makeStandalone(into: Folder): Promise<void> {
  const witnessed = await WitnessedService.start('standalone', 1, SETTINGS);
  const { service, folder, policyFile } = witnessed;
  const { rw }: Project = await service.newProject();
  await fill(rw, COLLECTION);
  await into.save(
    'receipt.json',
    answered(await rw.post('/v1/records', { ...RECORD, metadata: [...Buffer.from('{"a":1}')] })),
  );
  await into.save('record.json', RECORD);
  const seal = async () =>
    answered(await rw.post('/v1/records/encrypted', { collection: COLLECTION, payload: PAYLOAD }));
  const [encrypted, shredded] = [await seal(), await seal()];
  answered(await rw.delete(`/v1/crypto/shred/${shredded.key_id}`));
  await fillIndexed(service, rw);
  await service.until(async () => (await snapshotsIn(service.dataDir)) === INDEXED.length + 1);
  await service.end('standalone');
  await addSegment(service.dataDir);
  await service.restart('standalone');

  const policy = await readFile(policyFile, 'utf8');
  await into.save('policy', policy);
  await into.save('api.key', rw.key!);
  await saveProofs(into, rw);
  await saveServiceLog(into, service.url);
  const kept = clientOf(service.url, rw.key!).pinnedCheckpoints(fileStore(into.path('pinned.json')));
  await kept.check(COLLECTION);
  await kept.checkLog(policy);
  const args = ['--log', `${service.url}/log`, '--policy', policyFile, '--state', into.path('monitor.json'), '--once'];
  await succeeded(runMonitor(args));
  await succeeded(runExport({ url: service.url, rw }, COLLECTION, into.path('everything.vouchlog')));
  await into.save('answers.json', await answersOf(service, rw, { encrypted: encrypted.id, shredded: shredded.id }));

  await service.end('standalone');
  await cp(service.dataDir, into.path('folder'), { recursive: true });
  await cp(join(folder, 'log.key'), into.path('folder/log.key'));
  await cp(join(folder, 'witness1'), into.path('witness1'), { recursive: true });
  for (const name of OF_A_PROCESS) await rm(into.path(name), { recursive: true, force: true });
  await witnessed.stop();
}

async function messagesOf(url: string): Promise<StreamMessage[]> {
  const options = { url, name: 'specimen', role: 'admin', logger: silentLogger, replicas: 3, logStreams: 4 } as const;
  const platform = await openCluster(options);
  const { streams } = platform.connection.jsm;
  const messages: StreamMessage[] = [];
  for await (const stream of streams.names()) {
    const { state } = await streams.info(stream);
    for (let seq = state.first_seq; seq <= state.last_seq; seq++) {
      const found = await streams.getMessage(stream, { seq }).catch(() => undefined);
      if (found === undefined) continue;
      const headers = found.header && Object.fromEntries([...found.header].map(([name, values]) => [name, values]));
      const body = Buffer.from(found.data).toString('base64');
      messages.push({ stream, sequence: seq, subject: found.subject, ...(headers && { headers }), body });
    }
  }
  await platform.close();
  return messages;
}

async function makeCluster(into: Folder): Promise<void> {
  const nats = await startTestNatsCluster();
  const settings = { VOUCH_REPLICAS: '3', VOUCH_LOG_EVERY_MS: '200' };
  const service = await Service.start('cluster', settings, { nats, shards: 1 });
  const { rw } = await service.newProject();
  await fill(rw, COLLECTION);
  const state = answered(await rw.get(`/v1/proof/state?collection=${COLLECTION}`));
  await service.logKey();
  const messages = (await messagesOf(nats.url)).map((message) => JSON.stringify(message));
  await into.save('jetStream.jsonl', `${messages.join('\n')}\n`);
  await into.save('jetStreamState.json', state);
  await cp(join(service.dataDir, 'master.key'), into.path('master.key'));
  await service.stop();
}

await runCommand({ name: 'specimen', usage: USAGE }, async (args) => {
  const { positionals } = parseFlags({ args: [...args], allowPositionals: true, options: {} });
  const [archive, ...others] = positionals;
  if (archive === undefined || others.length > 0) throw new UsageError('specimen takes one archive');
  if (existsSync(archive)) throw new Error(`${archive} exists already and is never overwritten`);
  const into = new Folder(await mkdtemp(join(tmpdir(), 'vouch-specimen-')));
  try {
    await makeStandalone(into);
    await makeCluster(into);
    await mkdir(dirname(archive), { recursive: true });
    execFileSync('tar', ['--create', '--gzip', '--file', archive, '--directory', into.root, '.']);
  } finally {
    await rm(into.root, { recursive: true, force: true });
  }
});
// Ends the idle threads of the services in this process.
process.exit();
