// Covers: scripts/witness/witness.ts, scripts/witness/open.ts
/** The witness protocol (c2sp.org/tlog-witness), answer by answer. */
import { createHash, generateKeyPairSync } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { ServiceTree } from '../../../../coordinator/serviceLog/tree.js';
import { openWitness } from '../../../../scripts/witness/open.js';
import { systemClock } from '../../../../shared/clock.js';
import { type Signer, signerOf } from '../../../../shared/signing/signer.js';
import {
  cosignatureBy,
  ED25519,
  formatNote,
  leafHash,
  parseNote,
  parseVerifierKey,
  toBase64,
  treeHeadText,
  type VerifierKey,
  verifierKey,
} from '../../../../verifier/index.js';
import { rejection } from '../../../support/expectations.js';

const ORIGIN = 'vouch.example/log';

describe('a witness', () => {
  let folder: string;
  let log: { readonly signer: Signer; readonly key: VerifierKey };
  let refusals: string[];
  const opened: { close(): Promise<void> }[] = [];
  const tree = new ServiceTree();
  const fork = new ServiceTree();
  for (let i = 0; i < 20; i++) {
    tree.append(leafHash(Uint8Array.of(i)));
    fork.append(leafHash(Uint8Array.of(i === 3 ? 99 : i)));
  }

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vouch-witness-'));
    const signer = signerOf(generateKeyPairSync('ed25519').privateKey);
    log = { signer, key: verifierKey(ORIGIN, ED25519, signer.publicKey) };
    refusals = [];
  });
  afterEach(async () => {
    for (const one of opened.splice(0)) await one.close();
    await rm(folder, { recursive: true, force: true });
  });

  const open = async () => {
    const one = await openWitness(folder, 'w.example', {
      logs: [log.key],
      clock: systemClock,
      onRefused: (reason) => refusals.push(reason),
    });
    opened.push(one);
    return one;
  };
  const noteOf = (of: ServiceTree, size: number, { signer, key } = log): string => {
    const text = treeHeadText({ origin: key.name, size, root: of.root(size) });
    return formatNote({ text, signatures: [{ name: key.name, keyId: key.id, bytes: signer.sign(text) }] });
  };
  const request = (old: number, of: ServiceTree, size: number, from = old, note = noteOf(of, size)): string =>
    `old ${old}\n${of
      .consistency(from, size)
      .map((hash) => `${toBase64(hash)}\n`)
      .join('')}\n${note}`;

  it('cosigns a checkpoint that continues the last one it has seen, also after a restart', async () => {
    const first = await open();
    for (const [old, size] of [
      [0, 3],
      [3, 7],
      [7, 7],
      [7, 20],
    ] as const) {
      const { status, body } = await first.witness.addCheckpoint(request(old, tree, size));
      expect(status, body).to.equal(200);
      const cosigned = parseNote(noteOf(tree, size) + body);
      expect(cosignatureBy(cosigned, parseVerifierKey(first.verifierKey))?.timeSecs).to.be.above(1_700_000_000);
    }
    await first.close();
    opened.length = 0;
    const again = await open();
    expect(again.verifierKey).to.equal(first.verifierKey);
    const { status, body, contentType } = await again.witness.addCheckpoint(request(0, tree, 5));
    expect([status, body, contentType]).to.deep.equal([409, '20\n', 'text/x.tlog.size']);
    const kept = again.witness.checkpoint(createHash('sha256').update(ORIGIN).digest('hex'));
    expect(parseNote(kept!).signatures.map(({ name }) => name)).to.deep.equal([ORIGIN, 'w.example']);
    expect(again.witness.checkpoint('00'.repeat(32))).to.equal(undefined);
  });

  it('refuses and reports another history and a shorter one', async () => {
    const { witness } = await open();
    await witness.addCheckpoint(request(0, tree, 7));
    expect((await witness.addCheckpoint(request(7, fork, 20))).status).to.equal(422);
    expect((await witness.addCheckpoint(request(7, fork, 7))).status).to.equal(422);
    expect((await witness.addCheckpoint(request(0, fork, 7))).status).to.equal(409);
    expect((await witness.addCheckpoint(request(5, tree, 6))).status).to.equal(409);
    expect(refusals).to.deep.equal([
      `${ORIGIN}: 20 entries are offered that do not continue the 7 seen before`,
      ...new Array<string>(2).fill(`${ORIGIN}: 7 entries are offered, and they differ from those seen before`),
      `${ORIGIN}: 6 entries are offered, but 7 were seen before`,
    ]);
    expect((await witness.addCheckpoint(request(7, tree, 9))).status).to.equal(200);
  });

  it('cosigns one of two histories that are offered at once', async () => {
    const { witness } = await open();
    const answers = await Promise.all(
      [request(0, tree, 7), request(0, fork, 7)].map((one) => witness.addCheckpoint(one)),
    );
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 409]);
    expect(refusals).to.have.length(1);
  });

  it('answers each malformed or unknown request with the status of the protocol', async () => {
    const { witness } = await open();
    const signer = signerOf(generateKeyPairSync('ed25519').privateKey);
    const stranger = { signer, key: verifierKey(ORIGIN, ED25519, signer.publicKey) };
    const unknown = { signer, key: verifierKey('other.example', ED25519, signer.publicKey) };
    const falsified = noteOf(tree, 7).replace('\n7\n', '\n8\n');
    for (const [body, status] of [
      ['', 400],
      ['old 0\n', 400],
      [request(0, tree, 7).replace('old', 'new'), 400],
      [request(0, tree, 7).replace('old 0', 'old 00'), 400],
      [request(0, tree, 7).replace('old 0\n', 'old 0\nAAAA\n'), 400],
      [request(0, tree, 7).replace('old 0\n', `old 0\n${`${toBase64(new Uint8Array(32))}\n`.repeat(64)}`), 400],
      [request(0, tree, 7).replace('old 0\n', `old 0\n${toBase64(new Uint8Array(32))}\n`), 422],
      [request(8, tree, 7, 7), 400],
      [request(0, tree, 7, 0, noteOf(tree, 7, unknown)), 404],
      [request(0, tree, 7, 0, noteOf(tree, 7, stranger)), 403],
      [request(0, tree, 7, 0, falsified), 403],
    ] as const)
      expect((await witness.addCheckpoint(body)).status, body).to.equal(status);
    const empty = noteOf(tree, 0);
    expect((await witness.addCheckpoint(`old 0\n\n${empty}`)).status).to.equal(200);
    const text = treeHeadText({ origin: ORIGIN, size: 0, root: tree.root(1) });
    const wrong = formatNote({ text, signatures: [{ name: ORIGIN, keyId: log.key.id, bytes: log.signer.sign(text) }] });
    expect((await witness.addCheckpoint(`old 0\n\n${wrong}`)).status).to.equal(422);
  });

  it('stores a checkpoint before it answers, and does not start without its file', async () => {
    const one = await open();
    await one.witness.addCheckpoint(request(0, tree, 7));
    expect(JSON.parse(await readFile(join(folder, 'seen.json'), 'utf8')).checkpoints[ORIGIN]).to.include('\n7\n');
    expect((await rejection(open())).message).to.match(/is (?:used|locked|in use)/);
    await one.close();
    opened.length = 0;
    await writeFile(join(folder, 'seen.json'), '{"version":1}');
    expect((await rejection(open())).message).to.include('does not have the checkpoints of a witness');
  });
});
