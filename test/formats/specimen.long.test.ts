/** This version opens and verifies the archives of earlier ones, see `docs/formats.md`, "What later versions read". */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { fileStore } from '../../client/node.js';
import { decodeFrame } from '../../coordinator/serviceLog/frame.js';
import { readMasterKeyFile } from '../../shard/vault/masterKeyFile.js';
import { unwrapKey } from '../../shard/vault/wrappedKey.js';
import { readBarrier } from '../../shared/log/barrier.js';
import { isEntryOf } from '../../shared/registry/entryShapes.js';
import { decodeVaultEntry, sealPartsOf } from '../../shared/vault/entryCodec.js';
import { decodeSeal, isErased, openSealed } from '../../shared/vault/seal.js';
import { parsePolicy, toHex, verifyErasure, verifyFrames, visitLog } from '../../verifier/index.js';
import { runImport, succeeded } from '../support/launch/commands.js';
import { freePort } from '../support/launch/freePort.js';
import { samplesNamed } from '../support/launch/metricSamples.js';
import type { Launched } from '../support/launch/process.js';
import { verify } from '../support/launch/runVerify.js';
import { type Client, Service } from '../support/launch/service.js';
import { answered } from '../support/rigs/backups.js';
import { launchWitness, runMonitor, STARTED } from '../support/rigs/witnessedService.js';
import { ROOT } from '../support/sourceTree.js';
import { answersOf, COLLECTION, clientOf, INDEXED, PROJECT, type StreamMessage } from './specimen.js';

/** Checksums of the archives, which never change. */
const SEALED = { '0.2': '34c174084585efecf00f501b1a887d03af937133d709f0a4b6d8aa4817ba11bc' };

/** Every field of `kept` is in `now`, equal to the last bit: a later version may add fields. */
function expectKept(now: unknown, kept: unknown, path: string): void {
  if (typeof kept !== 'object' || kept === null)
    expect(Object.is(now, kept), `${path}: ${now}, not ${kept}`).to.equal(true);
  else {
    expect(now, path).to.be.an(Array.isArray(kept) ? 'array' : 'object');
    if (Array.isArray(kept)) expect(now, path).to.have.length(kept.length);
    for (const [field, value] of Object.entries(kept))
      expectKept((now as Record<string, unknown>)[field], value, `${path}.${field}`);
  }
}

for (const [version, sha256] of Object.entries(SEALED))
  describe(`the specimen of ${version}`, () => {
    const archive = join(ROOT, 'test', 'formats', version, 'specimen.tar.gz');
    let work: string;
    let witness: Launched;
    let service: Service;
    let client: Client;
    let stored: Record<string, string>;

    const path = (name: string): string => join(work, name);
    const text = (name: string): string => readFileSync(path(name), 'utf8');
    const json = <T>(name: string): T => JSON.parse(text(name)) as T;
    /** Every file of the collections and keys, as hex. */
    const contentOf = (): Record<string, string> =>
      Object.fromEntries(
        ['collections', 'snapshots', 'indexes', 'vault']
          .flatMap((folder) =>
            readdirSync(path(join('folder', folder)), { recursive: true, withFileTypes: true })
              .filter((entry) => entry.isFile())
              .map((entry) => join(entry.parentPath, entry.name)),
          )
          .map((file) => [file, readFileSync(file, 'hex')]),
      );

    before(async () => {
      work = mkdtempSync(join(tmpdir(), 'vouch-specimen-'));
      execFileSync('tar', ['--extract', '--gzip', '--file', archive, '--directory', work]);
      stored = contentOf();
      const [log] = parsePolicy(text('policy')).logs;
      const port = await freePort();
      witness = launchWitness(work, log!.key, 1, port);
      const [, , vkey, url] = STARTED.exec(await witness.waitForLine(STARTED))!;
      const policy = text('policy').replace(/^(witness w1 \S+) \S+$/m, `$1 ${url}`);
      expect(policy, 'its key is unchanged').to.contain(`witness w1 ${vkey} ${url}`);
      writeFileSync(path('policy.now'), policy);
      service = await Service.start('standalone', {
        ...{ VOUCH_DATA_DIR: path('folder'), VOUCH_WITNESSES: path('policy.now') },
        ...{ VOUCH_LOG_ORIGIN: log!.key.name, VOUCH_LOG_EVERY_MS: '200' },
      });
      client = service.client(text('api.key'));
    });
    after(async () => {
      await service?.stop();
      await witness?.stop();
      rmSync(work, { recursive: true, force: true });
    });

    it('has the recorded checksum', () => {
      expect(createHash('sha256').update(readFileSync(archive)).digest('hex')).to.equal(sha256);
    });

    it('answers as before, equal to the last bit, from its snapshots and saved indexes alone', async () => {
      const answers = json<Parameters<typeof answersOf>[2] & { ids: Parameters<typeof answersOf>[2] }>('answers.json');
      expectKept(await answersOf(service, client, answers.ids), answers, 'answers');
      const texts = [{ name: 'service', text: await service.metrics() }];
      const count = (name: string, label = '', value = ''): number =>
        samplesNamed(name, texts)
          .filter(({ labels }) => label === '' || labels[label] === value)
          .reduce((sum, sample) => sum + sample.value, 0);
      expect(count('vouch_open_seconds_count', 'from', 'snapshot')).to.equal(INDEXED.length + 1);
      expect(count('vouch_open_seconds_count', 'from', 'log')).to.equal(0);
      for (const kind of INDEXED) expect(count('vouch_index_load_seconds_count', 'kind', kind), kind).to.equal(1);
      for (const none of ['vouch_index_build_seconds_count', 'vouch_index_damaged_total', 'vouch_damaged'])
        expect(count(none), none).to.equal(0);
    });

    it('certifies the erasure of its shredded key', async () => {
      const { events } = (await client.get(`/v1/timeline?collection=${COLLECTION}&limit=1000`)).body;
      const shred = events.find(({ event_type }: { event_type: string }) => event_type === 'shred_key');
      const { certificates } = (await client.post('/v1/erasures', { key_ids: [shred.key_id] })).body;
      const { collections } = verifyErasure(certificates[0]);
      expect(collections).to.have.length(1);
      expect(Number(collections[0]!.shred.sequence)).to.equal(shred.log_index);
      const written = events.filter(({ event_type, key_id }: { event_type: string; key_id?: string }) =>
        [event_type === 'insert_encrypted', key_id === shred.key_id].every(Boolean),
      );
      expect(collections[0]!.contents.map(({ sequence }) => Number(sequence))).to.deep.equal(
        written.map(({ log_index }: { log_index: number }) => log_index),
      );
    });

    it('verifies by npm run verify: log, folder, export, receipts, proofs and checkpoints', async () => {
      const key = json<{ public_key: string }>('checkpoint.json').public_key;
      const signed = ['--checkpoint', path('checkpoint.json'), '--key', key];
      const [receipt, batch] = [path('receipt.json'), path('batchReceipt.json')];
      const claims = ['--receipt', receipt, '--receipt', batch, ...signed];
      const runs = [
        ['receipt', receipt, '--record', path('record.json')],
        ['receipt', batch],
        ['inclusion', path('inclusion.json'), '--receipt', batch, ...signed],
        ['consistency', path('consistency.json'), ...signed],
        ['checkpoint', path('checkpoint.json'), '--key', key],
        ['checkpoint', path('logged.json'), '--policy', path('policy')],
        ['log', path('everything.vouchlog'), ...claims],
        ['folder', path('folder'), '--collection', COLLECTION, '--project', PROJECT, ...claims],
      ];
      const outcomes = await Promise.all(runs.map((args) => verify(args)));
      for (const [i, { code, text: output }] of outcomes.entries()) expect(code, `${runs[i]}\n${output}`).to.equal(0);
    });

    it('continues for a client, a monitor and a witness that remember it', async () => {
      const policy = text('policy.now');
      const kept = clientOf(service.url, client.key!).pinnedCheckpoints(fileStore(path('pinned.json')));
      const { last, events } = await kept.check(COLLECTION);
      expect(last?.origin).to.include({ project: PROJECT, name: COLLECTION });
      expect(events).to.equal(0);
      const served = async (name: string): Promise<Uint8Array> => readFileSync(path(join('log', name)));
      const { checkpoint } = await visitLog(served, parsePolicy(text('policy')), undefined);
      answered(await client.post('/v1/namespaces', { name: 'later', dimension: 1, metric: 'squared_l2' }));
      answered(await client.post('/v1/records', { collection: 'later', values: [1] }));
      await service.until(async () => (await kept.checkLog(policy)).size > checkpoint.size);
      const args = ['--log', `${service.url}/log`, '--policy', path('policy.now'), '--state', path('monitor.json')];
      await succeeded(runMonitor([...args, '--once']));
    });

    it('is not changed by reading', async () => {
      await service.end('standalone');
      const now = contentOf();
      expect(Object.keys(stored)).to.have.length.above(10);
      for (const [file, content] of Object.entries(stored)) expect(now[file] === content, file).to.equal(true);
      await service.restart('standalone');
    });

    it('gives the same hashes when its export is imported', async () => {
      await succeeded(runImport({ url: service.url, rw: client }, path('everything.vouchlog'), 'again'));
      const [was, is] = await Promise.all(
        [COLLECTION, 'again'].map(async (name) => answered(await client.get(`/v1/proof/state?collection=${name}`))),
      );
      expect(is).to.deep.equal(was);
    });

    it('is read from JetStream: frames, barriers, entries of buckets, sealed keys, the service log', async () => {
      const messages = text('jetStream.jsonl')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as StreamMessage);
      const of = (stream: string): [string, Buffer][] =>
        messages
          .filter((message) => message.stream.startsWith(stream))
          .map(({ subject, body }) => [subject, Buffer.from(body, 'base64')]);

      const log = of('VOUCH_LOG_').map(([, body]) => body);
      const frames = log.filter((body) => readBarrier(body) === undefined);
      expect(log.length - frames.length, 'barriers').to.be.above(0);
      const { refusal, state } = await verifyFrames(frames);
      expect(refusal).to.equal(undefined);
      expect(toHex(state.stateHash)).to.equal(
        json<{ final_state_hash: string }>('jetStreamState.json').final_state_hash,
      );

      let entries = 0;
      for (const [subject, body] of of('KV_')) {
        const [, bucket, key] = /^\$KV\.([^.]+)\.(.+)$/.exec(subject)!;
        if (body.length === 0) continue;
        expect(isEntryOf(bucket!, key!, JSON.parse(body.toString())), subject).to.equal(true);
        entries++;
      }
      expect(entries).to.be.above(10);

      let next = 0;
      for (const [, body] of of('VOUCH_SERVICE_LOG')) {
        const frame = decodeFrame(body);
        expect(frame.first).to.equal(next);
        next += frame.entries.length;
      }
      expect(next).to.be.above(0);

      const [master] = (await readMasterKeyFile(path('master.key')))!;
      const seals = new Map(of('VOUCH_SEALS_1').map(([subject, body]) => [subject.replace('seals.1', 'vault'), body]));
      const last = new Map(of('VOUCH_VAULT'));
      const statuses: string[] = [];
      for (const [subject, seal] of seals) {
        const [, , projectHex, keyId] = subject.split('.');
        const project = Buffer.from(projectHex!, 'hex').toString();
        const bytes = last.get(subject)!;
        const { entry } = decodeVaultEntry(bytes, project, keyId!);
        statuses.push(entry.status);
        if (entry.status === 'shredded') expect(isErased(seal)).to.equal(true);
        else {
          expect(sealPartsOf(bytes)).to.equal(1);
          const wrapped = openSealed([decodeSeal(seal)!.key], entry.wrapped!, { project, keyId: keyId! });
          expect(unwrapKey(master!, wrapped, { project, keyId: keyId! })).to.have.length(32);
        }
      }
      expect(statuses.sort()).to.deep.equal(['active', 'active', 'shredded']);
    });
  });
