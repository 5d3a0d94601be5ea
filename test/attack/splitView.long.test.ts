// Covers: scripts/monitor.ts, scripts/monitor/monitor.ts, scripts/witness.ts, scripts/witness/request.ts
// Covers: scripts/witness/server.ts
/**
 * Attacks by a holder of the signing key, the data folder or the network of the service log, and how they are found.
 */
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { censusEntry, deletionEntry } from '../../coordinator/serviceLog/entry.js';
import { bundleOf } from '../../coordinator/serviceLog/frame.js';
import { ServiceTree } from '../../coordinator/serviceLog/tree.js';
import { openSigner } from '../../shared/signing/signer.js';
import {
  COSIGNATURE,
  entriesIn,
  formatNote,
  formatVerifierKey,
  leafHash,
  parseTilePath,
  tilePath,
  tileWidth,
  toBase64,
  treeHeadText,
  verifierKey,
  verifyLogged,
  verifyTreeHead,
} from '../../verifier/index.js';
import { verify } from '../support/launch/runVerify.js';
import type { Project } from '../support/launch/service.js';
import { LOG_ORIGIN, runMonitor, WitnessedService } from '../support/rigs/witnessedService.js';

const DIMENSION = 2;
const FAR_MS = 4_000_000_000_000;

async function create(project: Project, name: string): Promise<void> {
  await project.rw.post('/v1/namespaces', { name, dimension: DIMENSION, metric: 'squared_l2' });
}
async function insert(project: Project, collection: string): Promise<Record<string, unknown>> {
  const { status, body, text } = await project.rw.post('/v1/records', { collection, values: [1, 2], request_id: null });
  expect(status, text).to.equal(200);
  return body;
}

/** A log in memory, signed with the true key: what a thief can serve. */
class ForgedLog {
  readonly #tree = new ServiceTree();
  #server: Server | undefined;

  constructor(
    private readonly rig: WitnessedService,
    readonly entries: readonly Uint8Array[],
  ) {
    for (const entry of entries) this.#tree.append(leafHash(entry));
  }

  get note(): string {
    const { key, signer } = this.rig;
    const text = treeHeadText({ origin: LOG_ORIGIN, size: this.#tree.size, root: this.#tree.root(this.#tree.size) });
    return formatNote({ text, signatures: [{ name: key.name, keyId: key.id, bytes: signer.sign(text) }] });
  }

  /** A request to a witness for a cosignature. */
  request(old: number): string {
    const proof = this.#tree.consistency(old, this.#tree.size).map((hash) => `${toBase64(hash)}\n`);
    return `old ${old}\n${proof.join('')}\n${this.note}`;
  }

  async serve(): Promise<string> {
    const server = createServer((request, response) => {
      const name = parseTilePath(request.url!.slice('/log/'.length));
      if (request.url === '/log/checkpoint') response.end(this.note);
      else if (name?.level === 'entries')
        response.end(bundleOf(this.entries.slice(256 * name.index, 256 * name.index + name.width)));
      else response.writeHead(404).end();
    });
    this.#server = server;
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/log`;
  }

  stop(): void {
    this.#server?.closeAllConnections();
    this.#server?.close();
  }
}

describe('the service log under attack', () => {
  let rig: WitnessedService;
  let project: Project;
  let folder: string;
  before(async () => {
    rig = await WitnessedService.start('standalone', 2);
    project = await rig.service.newProject();
    folder = await mkdtemp(join(tmpdir(), 'vouch-attack-'));
    await create(project, 'c');
    await insert(project, 'c');
    await rig.untilCosigned(['w1', 'w2']);
  });
  after(async () => {
    await rig?.stop();
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  });

  const entriesNow = async (): Promise<Uint8Array[]> => {
    const { size } = await rig.checkpoint();
    const path = tilePath({ level: 'entries', index: 0, width: tileWidth(size, 'entries', 0) });
    return entriesIn(new Uint8Array(await (await fetch(`${rig.service.url}/log/${path}`)).arrayBuffer()));
  };
  const monitor = async (log: string, state: string, policy = rig.policyFile) => {
    const command = runMonitor(['--log', log, '--policy', policy, '--state', join(folder, state), '--once']);
    const { code } = await command.waitForEnd();
    return { code, text: command.output };
  };
  /** A policy without witnesses: its reader trusts the key alone. */
  const credulous = async (): Promise<string> => {
    const file = join(folder, 'credulous');
    const lines = (await readFile(rig.policyFile, 'utf8')).split('\n').filter((line) => line.startsWith('log '));
    await writeFile(file, [...lines, 'quorum none\n'].join('\n'));
    return file;
  };
  const saved = async (name: string, body: unknown): Promise<string> => {
    await writeFile(join(folder, name), JSON.stringify(body));
    return join(folder, name);
  };
  const ask = async (path: string) => (await project.ro.get(path)).body;

  it('proves a receipt offline up to a cosigned root, and names the step that breaks', async () => {
    const receipt = await saved('receipt.json', await insert(project, 'c'));
    const body = await ask('/v1/proof/checkpoint?collection=c&logged=true');
    const logged = await saved('logged.json', body);
    const size = Number(body.checkpoint.split('\n')[2]);
    const inclusion = await saved(
      'inclusion.json',
      await ask(`/v1/proof/inclusion?collection=c&sequence=2&size=${size}`),
    );
    const record = await saved('record.json', { values: [1, 2] });
    const chain = (checkpoint: string, policy = rig.policyFile) =>
      verify([
        'inclusion',
        inclusion,
        '--receipt',
        receipt,
        '--record',
        record,
        '--checkpoint',
        checkpoint,
        '--policy',
        policy,
      ]);
    const whole = await chain(logged);
    expect(whole.code, whole.text).to.equal(0);
    expect(whole.text).to.match(
      /✔ service log +entry \d+ of the \d+ of vouch.example\/log\n✔ cosigned by +w1, .*\n✔ cosigned by +w2, /,
    );

    const plain = await saved('plain.json', await ask('/v1/proof/checkpoint?collection=c'));
    const { proof } = body.service_log;
    const withProof = (changed: string) => ({ ...body, service_log: { ...body.service_log, proof: changed } });
    const [, , third] = (await readFile(rig.policyFile, 'utf8')).split('\n');
    const others = join(folder, 'others');
    await writeFile(others, `${third!.replace('witness w2', 'witness other')}\nquorum other\n`);
    for (const [checkpoint, policy, why] of [
      [plain, rig.policyFile, 'says nothing of the service log'],
      [
        await saved('a.json', withProof(proof.replace(/— w2.*\n/, ''))),
        rig.policyFile,
        'only w1 cosigned the checkpoint',
      ],
      [
        await saved('b.json', withProof(proof.replace(/index \d+/, 'index 0'))),
        rig.policyFile,
        'the entry is not number 0',
      ],
      [
        await saved('c.json', { ...body, checkpoint: body.checkpoint.replace(/\d+\n$/, '1\n') }),
        rig.policyFile,
        'the signature is not of this text',
      ],
      [logged, others, 'no log of the policy has signed'],
    ] as const) {
      const { code, text } = await chain(checkpoint, policy);
      expect([code, text.includes(why)], `${why}: ${text}`).to.deep.equal([1, true]);
    }
    const misused = await verify(['receipt', receipt, '--policy', rig.policyFile]);
    expect(misused.code).to.equal(2);
  });

  it('convinces no reader whose policy names witnesses by a stolen key alone', async () => {
    const forged = new ForgedLog(rig, [...(await entriesNow()), deletionEntry(1, '00'.repeat(32), 1)]);
    expect(() => verifyTreeHead(forged.note, rig.policy)).to.throw('no witness of the policy cosigned');
    const url = await forged.serve();
    try {
      const { code, text } = await monitor(url, 'fresh.json');
      expect([code, text.includes('no witness of the policy cosigned')], text).to.deep.equal([2, true]);
    } finally {
      forged.stop();
    }
  });

  it('is refused by the second witness if one key has signed two histories', async () => {
    const [first, ...rest] = await entriesNow();
    const other = Uint8Array.from(first!, (byte, i) => (i === 100 ? byte ^ 1 : byte));
    const forged = new ForgedLog(rig, [other, ...rest]);
    const { size } = await rig.checkpoint();
    const answer = await fetch(`${rig.urlOf(2)}/add-checkpoint`, { method: 'POST', body: forged.request(size) });
    expect(answer.status).to.equal(422);
    await rig.untilPrinted(
      2,
      /^✘ REFUSED .*vouch.example\/log: \d+ entries are offered, and they differ from those seen before/,
    );
    const longer = new ForgedLog(rig, [other, ...rest, ...rest]);
    const again = await fetch(`${rig.urlOf(1)}/add-checkpoint`, { method: 'POST', body: longer.request(size) });
    expect(again.status).to.equal(422);
    await rig.untilPrinted(1, /^✘ REFUSED .* that do not continue the/);
  });

  it('is refused by monitors, even without witnesses, if one key has signed two histories', async () => {
    const policy = await credulous();
    const honest = `${rig.service.url}/log`;
    const first = await monitor(honest, 'seen.json', policy);
    expect(first.code, first.text).to.equal(0);
    expect((await monitor(honest, 'seen.json', policy)).code).to.equal(0);
    const entries = await entriesNow();
    const changed = Uint8Array.from(entries[0]!, (byte, i) => (i === 100 ? byte ^ 1 : byte));
    // The first checkpoint again, at a later time.
    const later = Uint8Array.from(entries[0]!, (byte, i) => (i === 22 ? byte + 1 : byte));
    const [a, b] = [join(folder, 'seen.json'), join(folder, 'seen2.json')];
    for (const [forged, why] of [
      [[changed, ...entries.slice(1)], 'the log has signed two histories of'],
      [[changed, ...entries.slice(1), entries[0]!], 'does not fit the entries seen'],
      [entries.slice(0, -1), 'its end was cut off'],
      [[...entries, entries[0]!], 'time ran backwards'],
      [[...entries, later], 'its log had'],
      [[...entries, deletionEntry(1, '11'.repeat(32), 1)], 'another collection has taken its id'],
      [[...entries, Uint8Array.of(1, 2, 3)], 'cannot be read'],
      // Possible without a key: the operator says that a collection is gone, or counts without it.
      [
        [...entries, censusEntry({ present: 0, missing: [1], timeMs: FAR_MS })],
        'has lost 1 of its collections (ids 1)',
      ],
      [[...entries, censusEntry({ present: 0, missing: [], timeMs: FAR_MS })], 'says that it has 0 collections'],
    ] as const) {
      await cp(a, b);
      const log = new ForgedLog(rig, forged);
      const { code, text } = await monitor(await log.serve(), 'seen2.json', policy);
      log.stop();
      expect([code, text.includes(`✘ ALARM`), text.includes(why)], `${why}: ${text}`).to.deep.equal([1, true, true]);
    }
    const evidence = await readFile(join(folder, 'seen2.json.alarm-1'), 'utf8');
    expect(evidence.match(/^— vouch\.example\/log /gm)).to.have.length(2);
  });

  it('counts as unchecked after two hours if it does not mention a collection', async () => {
    const [honest, policy, file] = [`${rig.service.url}/log`, await credulous(), join(folder, 'silent.json')];
    expect((await monitor(honest, 'silent.json', policy)).code).to.equal(0);
    const seen = JSON.parse(await readFile(file, 'utf8'));
    seen.log.census.timeMs -= 3 * 3_600_000;
    await writeFile(file, JSON.stringify(seen));
    expect((await monitor(honest, 'silent.json', policy)).code, 'it was written to lately').to.equal(0);
    seen.log.collections['1'].timeMs -= 3 * 3_600_000;
    await writeFile(file, JSON.stringify(seen));
    const { code, text } = await monitor(honest, 'silent.json', policy);
    expect([code, /has not mentioned collection 1 for 1[78]\d minutes/.test(text)], text).to.deep.equal([2, true]);
  });

  it('lacks only cosignatures while witnesses are away, and continues without a gap', async () => {
    await rig.killWitness(1);
    await rig.killWitness(2);
    const { size: before } = await rig.checkpoint();
    for (let i = 0; i < 3; i++) {
      await insert(project, 'c');
      const { size } = await rig.checkpoint();
      await rig.service.until(async () => (await rig.checkpoint()).size > size);
    }
    const answer = await project.ro.get('/v1/proof/checkpoint?collection=c&logged=true');
    expect(verifyLogged(answer.body, rig.policy).log.size, 'the newest that has a quorum').to.equal(before);
    await rig.restartWitness(2);
    await rig.untilCosigned(['w2'], before + 3);
    await rig.restartWitness(1);
    await rig.untilCosigned(['w1', 'w2'], before + 3);
    const { body } = await project.ro.get('/v1/proof/checkpoint?collection=c&logged=true');
    expect(
      verifyLogged(body, rig.policy).checkpoint.size > verifyLogged(answer.body, rig.policy).checkpoint.size,
    ).to.equal(true);
    for (const n of [1, 2]) expect(rig.printedBy(n)).to.not.include('REFUSED');
  });

  it('is refused if a collection is gone without its deletion', async () => {
    await create(project, 'vanishing');
    await insert(project, 'vanishing');
    await project.ro.get('/v1/proof/checkpoint?collection=vanishing&logged=true');
    const state = join(folder, 'own.json');
    const once = async () => {
      const args = ['--log', `${rig.service.url}/log`, '--policy', await credulous(), '--state', state, '--once'];
      const command = runMonitor(args, project.ro.key);
      const { code } = await command.waitForEnd();
      return { code, text: command.output };
    };
    const first = await once();
    expect(first.code, first.text).to.equal(0);
    const seen = JSON.parse(await readFile(state, 'utf8'));
    const [id] = Object.entries(seen.own).find(([, own]) => (own as { name: string }).name === 'vanishing')!;
    // The state of two minutes ago lists another collection, which the log has and never deleted.
    const phantom = { ...seen.log.collections[id], configHash: 'ab'.repeat(32) };
    seen.log.collections['999'] = phantom;
    seen.own['999'] = { name: 'phantom', missingMs: 1 };
    await writeFile(state, JSON.stringify(seen));
    const { code, text } = await once();
    expect([code, text.includes('the collection phantom, id 999, has vanished')], text).to.deep.equal([1, true]);
    expect((await project.rw.delete('/v1/namespaces/vanishing')).status).to.be.below(300);
  });

  it('lets readers with an API key detect another history than the logged one', async () => {
    // A proxy that answers for one collection with another's log, like an operator who has two.
    const shown = { c: 'c' };
    const proxy = createServer(async (request, response) => {
      const path = request.url!.replace('collection=c&', `collection=${shown.c}&`);
      const answer = await fetch(rig.service.url + path, {
        headers: { authorization: request.headers.authorization! },
      });
      response.writeHead(answer.status).end(Buffer.from(await answer.arrayBuffer()));
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    try {
      await create(project, 'other');
      for (let i = 0; i < 20; i++) await insert(project, 'other');
      await project.ro.get('/v1/proof/checkpoint?collection=other&logged=true');
      const log = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/log`;
      const once = async () => {
        const args = ['--log', log, '--policy', await credulous(), '--state', join(folder, 'compared.json'), '--once'];
        const command = runMonitor(args, project.ro.key);
        const { code } = await command.waitForEnd();
        return { code, text: command.output };
      };
      const first = await once();
      expect([first.code, /, \d+ compared, /.test(first.text)], first.text).to.deep.equal([0, true]);
      await insert(project, 'c');
      await project.ro.get('/v1/proof/checkpoint?collection=c&logged=true');
      shown.c = 'other';
      const second = await once();
      expect([second.code, second.text.includes('is not the one that was logged')], second.text).to.deep.equal([
        1,
        true,
      ]);
      expect(await readFile(join(folder, 'compared.json.alarm-1'), 'utf8')).to.include('vouch checkpoint v1');
      shown.c = 'c';
      const third = await once();
      expect([third.code, third.text.includes(', 1 compared, ')], third.text).to.deep.equal([0, true]);
    } finally {
      proxy.closeAllConnections();
      proxy.close();
    }
  });

  it('does not count cosignatures made for another policy', async () => {
    await rig.untilCosigned(['w1', 'w2']);
    const { service } = rig;
    const before = await readFile(rig.policyFile, 'utf8');
    const { publicKey } = await openSigner(join(folder, 'w3.key'));
    const stranger = formatVerifierKey(verifierKey('w3.example', COSIGNATURE, publicKey));
    const restartWith = async (policy: string): Promise<void> => {
      await service.end('standalone');
      await writeFile(rig.policyFile, policy);
      await service.restart('standalone');
    };
    await restartWith(`log ${formatVerifierKey(rig.key)}\nwitness w3 ${stranger} http://127.0.0.1:1\nquorum w3\n`);
    const { status, body } = await project.ro.get('/v1/proof/checkpoint?collection=c&logged=true');
    expect([status, body.code]).to.deep.equal([503, 'unavailable']);
    await restartWith(before);
    const again = await project.ro.get('/v1/proof/checkpoint?collection=c&logged=true');
    expect(again.status, again.text).to.equal(200);
  });

  it('is refused by the witnesses after a rollback of the data folder, and stalls', async () => {
    await rig.untilCosigned(['w1', 'w2']);
    const { service } = rig;
    const copy = join(folder, 'rolled-back');
    await service.end('standalone');
    await cp(service.dataDir, copy, { recursive: true });
    await service.restart('standalone');
    const { size } = await rig.checkpoint();
    await insert(project, 'c');
    await rig.untilCosigned(['w1', 'w2'], size + 1);
    await service.end('standalone');
    await rm(service.dataDir, { recursive: true });
    await cp(copy, service.dataDir, { recursive: true });
    await service.restart('standalone');
    // Stalled before it has written or signed anything.
    await service.until(async () => (await service.metric('vouch_log_stalled')) === 1);
    await insert(project, 'c');
    expect((await rig.checkpoint()).size, 'no other checkpoint is signed').to.equal(size);
    expect(service.process('standalone').output).to.include('was rolled back or changed');
    expect((await project.rw.post('/v1/records', { collection: 'c', values: [3, 4] })).status).to.equal(200);
  });
});
