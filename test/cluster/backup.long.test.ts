// Covers: scripts/backup/, scripts/export.ts, scripts/import.ts, scripts/service/target.ts, coordinator/contract/backup.ts
// Covers: coordinator/handlers/exports.ts
/** `npm run export` and `npm run import` between services, with kills, tampering and limits. */
import { access, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { ExportResponse } from '../../coordinator/contract/backup.js';
import { checkedExport } from '../../scripts/backup/checkedExport.js';
import { openExport } from '../../verifier/node/index.js';
import { type At, runExport, runImport, succeeded } from '../support/launch/commands.js';
import type { Launched } from '../support/launch/process.js';
import { type Mode, type Project, Service } from '../support/launch/service.js';
import { type SeededRandom, seededRandom, testSeed } from '../support/model/random.js';
import { answered, fill, portrait } from '../support/rigs/backups.js';

type Place = Project & At;

/** Kills of a command: the second meets the remains of a continued command. */
const KILLS = 2;
/** Records of a collection that exceeds one request of 8 MiB. Their dimension is large, so that few suffice. */
const MANY = 1_200;
const WIDE = 2_048;
const BATCH = 100;

const placeAt = async (service: Service): Promise<Place> => ({ ...(await service.newProject()), url: service.url });
const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

interface Killed {
  readonly start: () => Launched;
  readonly onKill: () => Promise<void>;
  /** Whether everything was done when it was killed. */
  readonly isDone: () => Promise<boolean>;
}

/** Starts the command again and again, and kills it after a while, except the last time. */
async function throughKills(random: SeededRandom, { start, onKill, isDone }: Killed): Promise<void> {
  for (let kills = 0; kills < KILLS; kills++) {
    const command = start();
    const ended = await Promise.race([
      command.ended,
      new Promise<undefined>((resolve) => setTimeout(resolve, 250 + random.int(750), undefined)),
    ]);
    if (ended !== undefined) {
      expect(ended.code, command.output).to.equal(0);
      return;
    }
    await command.kill();
    await onKill();
    if (await isDone()) return;
  }
  await succeeded(start());
}

/** A proxy that changes the service's answer about the end of an export. */
async function lyingService(
  url: string,
  lie: (facts: ExportResponse) => object,
): Promise<{ readonly url: string; readonly close: () => Promise<void> }> {
  const server = createServer(async (request, response) => {
    const headers = { authorization: request.headers.authorization ?? '' };
    const answer = await fetch(url + request.url, { headers });
    const bytes = Buffer.from(await answer.arrayBuffer());
    response.writeHead(answer.status);
    if (!request.url!.startsWith('/v1/export?')) return response.end(bytes);
    const facts = JSON.parse(bytes.toString()) as ExportResponse;
    return response.end(JSON.stringify({ ...facts, ...lie(facts) }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { url: `http://127.0.0.1:${port}`, close };
}

async function fillMany(random: SeededRandom, place: Place, collection: string): Promise<void> {
  answered(await place.rw.post('/v1/namespaces', { name: collection, dimension: WIDE, metric: 'squared_l2' }));
  const row = Array.from({ length: WIDE }, () => random.int(1_000));
  for (let from = 0; from < MANY; from += BATCH) {
    const batch = Array.from({ length: BATCH }, (_, i) => row.with(0, from + i));
    answered(await place.rw.post('/v1/vectors/batch-insert', { collection, batch }));
  }
}

describe('npm run export, npm run import', () => {
  const services = {} as Record<Mode, Service>;
  let folder: string;
  let files = 0;
  const newFile = (): string => join(folder, `${++files}.vouchlog`);

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vouch-backup-'));
    for (const mode of ['cluster', 'standalone'] as const) services[mode] = await Service.start(mode);
  });
  after(async () => {
    await Promise.all(Object.values(services).map((service) => service.stop()));
    await rm(folder, { recursive: true, force: true });
  });

  it('take a collection from standalone to a cluster and back, with equal hashes', async () => {
    const home = await placeAt(services.standalone);
    const away = await placeAt(services.cluster);
    await fill(home.rw, 'lived');
    const first = newFile();
    const said = await succeeded(runExport(home, 'lived', first));
    const hashes = [...said.matchAll(/\b[0-9a-f]{64}\b/g)].map(([hash]) => hash);
    expect(hashes).to.have.length(2);
    const restored = await succeeded(runImport(away, first));
    for (const hash of hashes) expect(restored).to.match(new RegExp(`${hash}, as in the file`));
    const bare = newFile();
    await home.rw.post('/v1/namespaces', { name: 'bare', dimension: 1, metric: 'squared_l2' });
    await succeeded(runExport(home, 'bare', bare));
    expect(await succeeded(runImport(away, bare))).to.match(/bare is restored: 0 events$/m);
    const second = newFile();
    await succeeded(runExport(away, 'lived', second));
    await succeeded(runImport(home, second, 'again'));
    const before = await portrait(home.ro, 'lived');
    expect(await portrait(away.ro, 'lived')).to.deep.equal(before);
    expect(await portrait(home.ro, 'again')).to.deep.equal(before);
    expect(await isThere(`${first}.part`)).to.equal(false);
  });

  it('take an empty collection too', async () => {
    const home = await placeAt(services.standalone);
    await home.rw.post('/v1/namespaces', { name: 'empty', dimension: 2, metric: 'squared_l2' });
    const file = newFile();
    await succeeded(runExport(home, 'empty', file));
    await succeeded(runImport(home, file, 'again'));
    expect((await home.rw.get('/v1/namespaces')).body.collections).to.have.length(2);
  });

  it('export one moment of a collection that is being written to', async () => {
    const home = await placeAt(services.standalone);
    await fillMany(seededRandom(1), home, 'busy');
    let running = true;
    let written = 0;
    const writer = (async () => {
      for (; running; written++)
        await home.rw.post('/v1/records', { collection: 'busy', values: new Array(WIDE).fill(1) });
    })();
    const file = newFile();
    await home.rw.post('/v1/records', { collection: 'busy', values: new Array(WIDE).fill(1) });
    await succeeded(runExport(home, 'busy', file));
    running = false;
    await writer;
    const opened = await openExport(file);
    const { sequence } = (await checkedExport(opened, () => {})).announced;
    await opened.close();
    expect(sequence).to.be.within(MANY + 1, MANY + 1 + written);
  });

  for (const mode of ['cluster', 'standalone'] as Mode[])
    it(`continue after kill -9 of the command and of the service (${mode})`, async () => {
      const seed = testSeed();
      const random = seededRandom(seed);
      const service = services[mode];
      const place = await placeAt(service);
      await fillMany(random, place, 'many');
      const victims = mode === 'cluster' ? ['s1', 's2', 'coordinator', 'nats'] : ['standalone'];
      const killOne = async (): Promise<void> => {
        const victim = random.pick(victims);
        await service.kill(victim);
        await service.restart(victim);
      };
      const file = newFile();
      await throughKills(random, {
        start: () => runExport(place, 'many', file),
        onKill: killOne,
        isDone: () => isThere(file),
      });
      await throughKills(random, {
        start: () => runImport(place, file, 'again'),
        onKill: killOne,
        // A command that finds everything done reports it, and succeeds.
        isDone: async () => false,
      });
      // The command itself waits for a service that is briefly gone.
      const waiting = runImport(place, file, 'patient');
      await killOne();
      await succeeded(waiting);
      const state = async (collection: string): Promise<unknown> =>
        answered(await place.ro.get(`/v1/proof/state?collection=${collection}`));
      await service.until(async () => (await place.ro.get('/v1/proof/state?collection=many')).status === 200);
      expect(await state('again'), `seed ${seed}`).to.deep.equal(await state('many'));
      expect(await state('patient'), `seed ${seed}`).to.deep.equal(await state('many'));
      const query = new Array(WIDE).fill(0);
      const found = await place.ro.post('/v1/search', { collection: 'again', query, k: 5 });
      expect(found.body).to.deep.equal((await place.ro.post('/v1/search', { collection: 'many', query, k: 5 })).body);
    });

  it('continue an unfinished file after its last whole frame, however it was torn', async () => {
    const random = seededRandom(testSeed());
    const home = await placeAt(services.standalone);
    await fill(home.rw, 'lived');
    const whole = newFile();
    await succeeded(runExport(home, 'lived', whole));
    const bytes = await readFile(whole);
    const cuts = [0, 5, 12, 100, ...Array.from({ length: 2 }, () => random.int(bytes.length))];
    for (const cut of cuts) {
      const file = newFile();
      // Anything may follow a cut.
      await writeFile(
        `${file}.part`,
        Buffer.concat([bytes.subarray(0, cut), cut > 400 ? Buffer.alloc(99, 7) : Buffer.alloc(0)]),
      );
      await succeeded(runExport(home, 'lived', file));
      const opened = await openExport(file);
      await checkedExport(opened, () => {});
      await opened.close();
    }
  });

  it('refuse a file with any byte altered, cut or added, and make nothing of it', async () => {
    const random = seededRandom(testSeed());
    const home = await placeAt(services.standalone);
    await fill(home.rw, 'lived');
    const file = newFile();
    await succeeded(runExport(home, 'lived', file));
    const bytes = await readFile(file);
    const altered = newFile();
    const refusal = async (content: Buffer): Promise<string | undefined> => {
      await writeFile(altered, content);
      const opened = await openExport(altered);
      try {
        await checkedExport(opened, () => {});
        return undefined;
      } catch (error) {
        return (error as Error).message;
      } finally {
        await opened.close();
      }
    };
    expect(await refusal(bytes)).to.equal(undefined);
    // Every byte of header and trailer, and one in twenty of the log, different ones in each run.
    const log = { from: bytes.indexOf('VFR1'), to: bytes.lastIndexOf('{"frames"') };
    for (let at = 0; at < bytes.length; at += at > log.from && at < log.to ? 1 + random.int(39) : 1) {
      const flipped = Buffer.from(bytes);
      flipped[at]! ^= 1 << random.int(8);
      expect(await refusal(flipped), `byte ${at}`).to.be.a('string');
    }
    for (const cut of [1, 31, 32, 33, 500])
      expect(await refusal(bytes.subarray(0, -cut)), `cut ${cut}`).to.be.a('string');
    expect(await refusal(Buffer.concat([bytes, Buffer.of(0)]))).to.be.a('string');
    const command = runImport(home, altered, 'nothing');
    expect(await command.waitForEnd()).to.include({ code: 1 });
    expect(command.output).to.match(/follows? the end/);
    expect((await home.rw.get('/v1/namespaces')).body.collections).to.have.length(1);
  });

  it('finish no export of a service that misstates its end', async () => {
    const home = await placeAt(services.standalone);
    await fill(home.rw, 'lived');
    const flipped = (hex: string): string => (hex.startsWith('0') ? '1' : '0') + hex.slice(1);
    const lies: ((facts: ExportResponse) => object)[] = [
      ({ state_hash }) => ({ state_hash: flipped(state_hash) }),
      ({ log_root }) => ({ log_root: flipped(log_root) }),
      ({ chain_head }) => ({ chain_head: flipped(chain_head) }),
      ({ checkpoint }) => ({ checkpoint: { ...checkpoint, signature: flipped(checkpoint.signature) } }),
      ({ sequence }) => ({ sequence: sequence - 1 }),
      ({ sequence }) => ({ sequence: sequence + 1 }),
    ];
    let file = '';
    for (const lie of lies) {
      file = newFile();
      const liar = await lyingService(home.url, lie);
      try {
        const command = runExport({ ...home, url: liar.url }, 'lived', file);
        expect((await command.waitForEnd()).code, command.output).to.equal(1);
        expect(command.output).to.match(/does not verify/);
        expect(await isThere(file)).to.equal(false);
      } finally {
        await liar.close();
      }
    }
    // A service that states the truth continues the fetched part.
    expect(await isThere(`${file}.part`)).to.equal(true);
    await succeeded(runExport(home, 'lived', file));
    expect(await isThere(`${file}.part`)).to.equal(false);
  });

  it('report impossible requests in one line: taken names and files, wrong keys, incomplete commands', async () => {
    const home = await placeAt(services.standalone);
    const other = await placeAt(services.standalone);
    await fill(home.rw, 'lived');
    await home.rw.post('/v1/namespaces', { name: 'other', dimension: 2, metric: 'squared_l2' });
    const file = newFile();
    await succeeded(runExport(home, 'lived', file));
    const checkpoint = newFile();
    await writeFile(checkpoint, (await home.rw.get('/v1/proof/checkpoint?collection=lived')).text);
    const failing: [Launched, number, RegExp][] = [
      [runExport(home, 'lived', file), 1, /is there already/],
      [runImport(home, file), 1, /exists already, and was not imported/],
      [runExport(other, 'lived', newFile()), 1, /no collection named "lived"/],
      [runExport({ ...home, url: 'nowhere' }, 'lived', newFile()), 2, /--url is nowhere/],
      [runImport(home, newFile()), 1, /the file .* does not exist/],
      [runImport(home, checkpoint), 1, /is a checkpoint, not an export: npm run verify -- checkpoint .* checks it/],
    ];
    for (const [command, code, says] of failing) {
      expect((await command.waitForEnd()).code, command.output).to.equal(code);
      expect(command.output).to.match(says);
    }
    const unfinished = newFile();
    await writeFile(`${unfinished}.part`, await readFile(file));
    const mixed = runExport(home, 'other', unfinished);
    expect((await mixed.waitForEnd()).code).to.equal(1);
    expect(mixed.output).to.match(/unfinished export of another collection/);
  });

  it('respect the rate limits', async () => {
    const rate = { perMinute: 60, burst: 1 };
    const limits = { default: { total: rate, read: rate, write: rate } };
    const limited = await Service.start('standalone', { VOUCH_RATE_LIMITS: JSON.stringify(limits) });
    try {
      const home = await placeAt(services.standalone);
      await fill(home.rw, 'lived');
      const place = await placeAt(limited);
      const [file, again] = [newFile(), newFile()];
      await succeeded(runExport(home, 'lived', file));
      await succeeded(runImport(place, file));
      await succeeded(runExport(place, 'lived', again));
      const opened = await openExport(again);
      const { state_hash } = (await checkedExport(opened, () => {})).announced;
      await opened.close();
      expect(state_hash).to.equal((await home.rw.get('/v1/proof/state?collection=lived')).body.final_state_hash);
    } finally {
      await limited.stop();
    }
  });
});
