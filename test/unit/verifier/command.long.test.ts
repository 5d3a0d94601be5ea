// Covers: scripts/verify.ts, scripts/verify/, verifier/node/, verifier/reached.ts
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { inBothModes } from '../../support/launch/modes.js';
import { verify, withFolder } from '../../support/launch/runVerify.js';
import type { Client, Project } from '../../support/launch/service.js';
import { PUBLIC_KEY, writeExport, writeLog } from '../../support/rigs/writtenLog.js';

inBothModes('npm run verify', (service) => {
  let project: Project;
  let rw: Client;
  let folder = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vouch-verify-'));
    project = await service.newProject();
    rw = project.rw;
    await rw.post('/v1/namespaces', { name: 'c', dimension: 2, metric: 'squared_l2' });
  });
  after(async () => folder && rm(folder, { recursive: true, force: true }));

  const saved = async (name: string, body: unknown): Promise<string> => {
    const path = join(folder, name);
    await writeFile(path, JSON.stringify(body));
    return path;
  };
  const asked = async (name: string, path: string): Promise<string> => saved(name, (await rw.get(path)).body);
  /** Arguments that name the collection's whole log, where this service stores it. */
  const source = (): string[] =>
    service.mode === 'standalone'
      ? ['folder', service.dataDir, '--collection', 'c', '--project', project.name]
      : ['stream', '--nats', service.nats.url, '--collection', 'c', '--project', project.name];

  async function life(): Promise<string> {
    const record = { collection: 'c', values: [1, -0.5], tag: 3, metadata: [...Buffer.from('{"a":1}')], text: 'é' };
    const receipt = await saved('receipt.json', (await rw.post('/v1/records', record)).body);
    await saved('record.json', { ...record, metadata: { a: 1 } });
    await rw.post('/v1/vectors/batch-insert', { collection: 'c', batch: Array.from({ length: 20 }, (_, i) => [i, i]) });
    const payload = Buffer.from('secret').toString('base64');
    const sealed = (await rw.post('/v1/records/encrypted', { collection: 'c', payload })).body;
    const other = (await rw.post('/v1/records/encrypted', { collection: 'c', payload })).body;
    await rw.patch('/v1/records/2/metadata?collection=c', { b: 2 });
    for (const id of [2, other.id]) await rw.post('/v1/soft-delete', { collection: 'c', id });
    for (const kind of [0, 1]) await rw.post('/v1/graph/node', { collection: 'c', kind, record_id: 1 });
    await rw.post('/v1/graph/edge', { collection: 'c', from: 1, to: 2, kind: 4 });
    expect((await rw.delete(`/v1/crypto/shred/${sealed.key_id}`)).status).to.equal(200);
    await rw.post('/v1/delete', { collection: 'c', id: 3 });
    return receipt;
  }

  it('checks a stored log, and the receipts, proofs and checkpoints of the service', async () => {
    const receipt = await life();
    const state = (await rw.get('/v1/proof/state?collection=c')).body;
    const checkpoint = await asked('checkpoint.json', '/v1/proof/checkpoint?collection=c');
    const batch = await asked('batch.json', '/v1/proof/receipt?collection=c&sequence=7');
    const key = (JSON.parse(await readFile(checkpoint, 'utf8')) as { public_key: string }).public_key;
    const claims = ['--receipt', receipt, '--receipt', batch, '--checkpoint', checkpoint, '--key', key];

    const whole = await verify([...source(), ...claims]);
    expect(whole.text).to.contain(state.final_state_hash).and.contain(state.chain_head);
    expect(whole.text)
      .to.match(/2 encrypted, 1 key shredded/)
      .and.match(/2 nodes, 1 edge/);
    expect(whole.text.match(/of this log/g)).to.have.length(3);
    expect(whole.code, whole.text).to.equal(0);

    const one = await verify(['receipt', receipt, '--record', join(folder, 'record.json')]);
    expect(one.text).to.match(/✔ record {8}the write wrote exactly these values/);
    expect(one.code, one.text).to.equal(0);

    const inclusion = await asked('inclusion.json', '/v1/proof/inclusion?collection=c&sequence=1');
    const signed = ['--checkpoint', checkpoint, '--key', key];
    const included = await verify(['inclusion', inclusion, '--receipt', receipt, ...signed]);
    expect(included.code, included.text).to.equal(0);
    for (const from of [1, 3, 6, 7, 12]) {
      const file = await asked(
        'consistency.json',
        `/v1/proof/consistency?collection=c&from=${from}&to=${state.sequence}`,
      );
      const consistent = await verify(['consistency', file, ...signed]);
      expect(consistent.code, `from ${from}: ${consistent.text}`).to.equal(0);
    }
    const unknown = await verify([...source(), '--checkpoint', checkpoint]);
    expect(unknown.code, unknown.text).to.equal(3);
    expect((await verify(['checkpoint', '-', '--key', key], await readFile(checkpoint, 'utf8'))).code).to.equal(0);
  });

  it('refuses a claim about another log or an altered one, and reports a missing collection', async () => {
    await rw.post('/v1/namespaces', { name: 'other', dimension: 1, metric: 'squared_l2' });
    const foreign = await saved(
      'foreign.json',
      (await rw.post('/v1/records', { collection: 'other', values: [1] })).body,
    );
    const refused = await verify([...source(), '--receipt', foreign]);
    expect(refused.text).to.match(
      /✘ receipt {7}write 1, record 1, by key [0-9a-f]{16} \(request \S+\): event 1 of the log differs/,
    );
    expect(refused.code).to.equal(1);

    const { receipt } = JSON.parse(await readFile(foreign, 'utf8')) as { receipt: { sequence: number } };
    const changed = await verify(['receipt', '-'], JSON.stringify({ ...receipt, sequence: 2 }));
    expect(changed.text).to.match(/✘ receipt {7}sequence is not the one of the proof/);
    expect(changed.code).to.equal(1);

    const unknown = await verify(source().map((word) => (word === 'c' ? 'nothing' : word)));
    expect(unknown.text).to.match(/found no collection nothing; there are/);
    expect(unknown.code).to.equal(2);
  });
});

describe('npm run verify', () => {
  it('names event, byte and time of an altered place in an export', () =>
    withFolder(async (folder) => {
      const { bytes, framesAt } = await writeExport(writeLog());
      const path = join(folder, 'notes.vouchlog');
      await writeFile(path, bytes);
      const good = await verify(['log', path, '--key', PUBLIC_KEY]);
      expect(good.text).to.match(/✔ collection {4}acme\/notes, id 17, 2 dimensions\n✔ log {11}26 events in 12 frames/);
      expect(good.code).to.equal(0);

      // The nonce of event 3, the first of the second frame.
      const byte = framesAt[1]! + 64 + 4 + 80;

      bytes[byte]! ^= 4;
      await writeFile(path, bytes);
      const bad = await verify(['log', path]);
      const place = (at: number): string => `byte ${at.toLocaleString('en-US')} of notes.vouchlog`;
      expect(bad.text).to.contain(`✘ refused       one of the events 3 to 4, ${place(framesAt[1]!)}`);
      expect(bad.text).to.contain(
        `one flipped bit explains it, in event 3, of 2023-11-14T22:13:20.750Z: ${place(byte)}`,
      );
      expect(bad.text).to.contain('before it     events 0 to 2 verify; the last is of 2023-11-14T22:13:20.500Z');
      expect(bad.code).to.equal(1);
    }));

  it('distinguishes a lost log from one that was never written to', () =>
    withFolder(async (folder) => {
      const catalog = join(folder, 'registry', 'vouch-catalog');
      await mkdir(catalog, { recursive: true });
      const collection = { id: 1, project: 'acme', name: 'notes' };
      const write = (value: object): Promise<void> =>
        writeFile(join(catalog, 'n.json'), JSON.stringify({ key: 'acme.notes', value }));
      await write(collection);
      const never = await verify(['folder', folder]);
      expect(never.text).to.match(/✔ collection {4}acme\/notes, id 1\n! log {11}empty: nothing was ever written/);
      expect(never.code).to.equal(0);
      const reached = join(folder, 'registry', 'vouch-watermarks');
      await mkdir(reached, { recursive: true });
      const value = { sequence: 7, chain_head: 'a'.repeat(64) };
      await writeFile(join(reached, '1.json'), JSON.stringify({ value }));
      const gone = await verify(['folder', folder]);
      expect(gone.text).to.match(
        /✘ collection {4}acme\/notes, id 1\n.* its log is gone: it is empty, but event 7 was committed/,
      );
      expect(gone.code).to.equal(1);
    }));

  it('replaces control characters of its input in its output', () =>
    withFolder(async (folder) => {
      const catalog = join(folder, 'registry', 'vouch-catalog');
      await mkdir(catalog, { recursive: true });
      const value = { id: 1, project: 'acme', name: '\u001b[2J\u009b1A\n✔ all is well' };
      await writeFile(join(catalog, 'n.json'), JSON.stringify({ key: `acme.${value.name}`, value }));
      for (const args of [[], ['--collection', 'c']]) {
        const { text } = await verify(['folder', folder, ...args]);
        expect(text).to.contain('\ufffd[2J\ufffd1A\ufffd✔ all is well');
      }
    }));

  it('exits with 2 and one line if it cannot check', async () => {
    for (const [args, problem] of [
      [['log', '/nowhere/x.vouchlog'], /the file \/nowhere\/x.vouchlog does not exist/],
      [['receipt', tmpdir()], /is a folder/],
      [['log', tmpdir()], /is a folder: that of a standalone node is checked with folder/],
      [['receipt', '/dev/zero'], /is larger than 64 MiB/],
      [['folder', tmpdir()], /is not the data folder/],
      [['stream', '--nats', '127.0.0.1:1', '--collection', 'c'], /no JetStream answers at 127.0.0.1:1/],
      [['-'], /standard input is not JSON/],
    ] as const) {
      const { code, text } = await verify(args, 'no JSON');
      expect(text, args.join(' ')).to.match(problem);
      expect(text, args.join(' ')).to.match(/^[^\n]+\n$/);
      expect(code, args.join(' ')).to.equal(2);
    }
  });

  it('exits with 2 and its usage for wrong arguments', async () => {
    for (const [args, problem] of [
      [['log'], /log takes a file/],
      [['log', 'a', 'b'], /log takes no argument b/],
      [['logs', 'a'], /there is no command "logs": did you mean log\?/],
      [['bogus'], /the file "bogus" does not exist, and there is no command "bogus": there are receipt, /],
      [['folder', tmpdir(), '--receipt', 'x'], /name it with --collection/],
      [['stream', '--collection', 'c'], /stream takes --nats and --collection/],
      [['checkpoint', '-', '--key', 'AB'], /--key takes 64 lowercase hex digits/],
      [
        ['checkpoint', '-', '--key', `01${'00'.repeat(31)}`],
        /--key is not the public key of a signer: it is of small order/,
      ],
      [
        ['checkpoint', '-', '--key', `02${'00'.repeat(31)}`],
        /--key is not the public key of a signer: it is not a point/,
      ],
      [['inclusion', 'a', '--key', PUBLIC_KEY], /--key is about checkpoints/],
      [['consistency', 'a', '--key', PUBLIC_KEY], /--key is about checkpoints/],
      [['folder', tmpdir(), '--collection', 'c', '--key', PUBLIC_KEY], /--key is about checkpoints/],
      [['inclusion', 'a', '--record', 'x'], /--record is about one receipt/],
      [['log', '-'], /a log is read from a file/],
      [['receipt', '-', '--nats', 'x'], /--nats does not go with receipt/],
      [['receipt', '-', '--what'], /what/],
    ] as const) {
      const { code, text } = await verify(args, 'no JSON');
      expect(text, args.join(' ')).to.match(problem);
      expect(text, args.join(' ')).to.match(/^[^\n]+[;?] npm run verify -- --help shows the usage\n$/);
      expect(code, args.join(' ')).to.equal(2);
    }
  });
});
