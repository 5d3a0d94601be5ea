// Covers: verifier/tlog/note.ts, verifier/tlog/base64.ts, verifier/tlog/treeHead.ts, verifier/tlog/tiles.ts
// Covers: verifier/tlog/tlogProof.ts, verifier/tlog/policy.ts, verifier/tlog/entry.ts
/**
 * The formats of transparency logs, by the examples of their specifications (c2sp.org, RFC 6962) and by malformed
 * input.
 */
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { expect } from 'chai';
import { fromHex, toHex, toUtf8 } from '../../../../verifier/bytes.js';
import {
  COSIGNATURE,
  cosignatureBy,
  cosignedText,
  ED25519,
  entriesIn,
  formatNote,
  formatTlogProof,
  formatVerifierKey,
  fromBase64,
  isNoteSigned,
  leafHash,
  parseEntry,
  parseNote,
  parsePolicy,
  parseSignature,
  parseTilePath,
  parseTlogProof,
  parseTreeHead,
  parseVerifierKey,
  TILE_WIDTH,
  tilePath,
  tileWidth,
  timedSignature,
  toBase64,
  treeHeadText,
  type VerifierKey,
  verifierKey,
  verifyTlogProof,
  verifyTreeHead,
} from '../../../../verifier/index.js';

const FOO = 'example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k';
const FOO_NOTE =
  'This is an example message.\n\n— example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n';
const SOFA = 'example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n';

interface Party {
  readonly key: VerifierKey;
  readonly privateKey: KeyObject;
}

function party(name: string, type: VerifierKey['type']): Party {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const raw = Buffer.from(publicKey.export({ format: 'jwk' }).x as string, 'base64url');
  return { key: verifierKey(name, type, new Uint8Array(raw)), privateKey };
}

const signed = ({ key, privateKey }: Party, text: string) => ({
  name: key.name,
  keyId: key.id,
  bytes: new Uint8Array(sign(null, Buffer.from(text), privateKey)),
});

const cosigned = ({ key, privateKey }: Party, text: string, timeSecs: number) => ({
  name: key.name,
  keyId: key.id,
  bytes: timedSignature(timeSecs, sign(null, Buffer.from(cosignedText(text, timeSecs)), privateKey)),
});

describe('notes', () => {
  it('verify under the key of the specification, and other texts do not', () => {
    const key = parseVerifierKey(FOO);
    expect(formatVerifierKey(key)).to.equal(FOO);
    const note = parseNote(FOO_NOTE);
    expect(note.text).to.equal('This is an example message.\n');
    expect(isNoteSigned(note, key)).to.equal(true);
    expect(formatNote(note)).to.equal(FOO_NOTE);
    expect(() => isNoteSigned({ ...note, text: 'This is another message.\n' }, key)).to.throw('not of this note');
    expect(isNoteSigned(note, party('example.com/foo', ED25519).key)).to.equal(false);
  });

  it('have the text up to the last empty line', () => {
    const note = parseNote(`a\n\nb\n\n${FOO_NOTE.split('\n\n')[1]}`);
    expect(note.text).to.equal('a\n\nb\n');
  });

  it('are refused if they are not well-formed', () => {
    const line = FOO_NOTE.split('\n\n')[1]!;
    for (const [wrong, why] of [
      ['text\n', 'no signatures'],
      [`text\n\n${line.trimEnd()}`, 'no signatures'],
      [`te\txt\n\n${line}`, 'control character'],
      ['text\n\n— a+b AAAAAAA=\n', 'not a signature line'],
      ['text\n\n— name AAAA\n', 'not a signature line'],
      [`text\n\n${line.repeat(101)}`, 'more than 100'],
    ] as const)
      expect(() => parseNote(wrong), JSON.stringify(wrong)).to.throw(why);
    expect(() => parseSignature('- name AAAAAAAA')).to.throw('not a signature line');
  });

  it('name verifier keys, which are refused if malformed', () => {
    const small = verifierKey('small', ED25519, fromHex(`01${'00'.repeat(31)}`));
    for (const [wrong, why] of [
      ['example.com/foo', 'not <name>'],
      [FOO.replace('530d903a', '530d903b'), 'its key id should be 530d903a'],
      [FOO.replace('AekyeR', 'BukyeR'), 'signatures are of type 6'],
      [FOO.slice(0, -4), '30 bytes|not base64|29 bytes'],
      [formatVerifierKey(small), 'small order'],
    ] as const)
      expect(() => parseVerifierKey(wrong), wrong).to.throw(new RegExp(why));
  });
});

describe('checkpoints of a log', () => {
  it('are read as in the specification', () => {
    const head = parseTreeHead(SOFA);
    expect(head.origin).to.equal('example.com/behind-the-sofa');
    expect(head.size).to.equal(20852163);
    expect(toBase64(head.root)).to.equal('CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=');
    expect(treeHeadText(head)).to.equal(SOFA);
    expect(parseTreeHead(`${SOFA}an extension\n`).size).to.equal(20852163);
  });

  it('are refused if they are not well-formed', () => {
    for (const wrong of [
      SOFA.slice(0, -1),
      SOFA.replace('20852163', '020852163'),
      SOFA.replace('20852163', '99999999999999999'),
      SOFA.replace('20852163', ''),
      SOFA.replace('CsUY', 'CsU'),
      `${SOFA}\n`,
      `\n${SOFA}`,
    ])
      expect(() => parseTreeHead(wrong), JSON.stringify(wrong)).to.throw(/checkpoint/);
  });

  it('are cosigned over the header line, the time and the text', () => {
    expect(cosignedText(SOFA, 1679315147)).to.equal(`cosignature/v1\ntime 1679315147\n${SOFA}`);
    const witness = party('witness.example.com/w1', COSIGNATURE);
    const note = { text: SOFA, signatures: [cosigned(witness, SOFA, 1679315147)] };
    expect(cosignatureBy(note, witness.key)?.timeSecs).to.equal(1679315147);
    expect(cosignatureBy(note, party('witness.example.com/w1', COSIGNATURE).key)).to.equal(undefined);
    expect(() => cosignatureBy({ ...note, text: SOFA.replace('2085', '2086') }, witness.key)).to.throw('not of this');
    const { bytes } = note.signatures[0]!;
    const later = { ...note.signatures[0]!, bytes: Uint8Array.from(bytes, (byte, i) => (i === 7 ? byte + 1 : byte)) };
    expect(() => cosignatureBy({ ...note, signatures: [later] }, witness.key)).to.throw('not of this');
  });
});

describe('tiles', () => {
  it('have the paths of the specification, one each', () => {
    expect(tilePath({ level: 0, index: 1234067, width: TILE_WIDTH })).to.equal('tile/0/x001/x234/067');
    expect(tilePath({ level: 'entries', index: 0, width: 8 })).to.equal('tile/entries/000.p/8');
    for (const path of ['tile/0/x001/x234/067', 'tile/63/999.p/255', 'tile/entries/x001/000.p/1'])
      expect(tilePath(parseTilePath(path)!)).to.equal(path);
    for (const path of [
      ...['tile/0/x000/067', 'tile/64/000', 'tile/00/000', 'tile/0/67', 'tile/0/000.p/0', 'tile/0/000.p/256'],
      ...['tile/0/000.p/01', 'tile/0/001/067', 'tile/-1/000', 'tile/0/000/', 'tile/0/x001/x234'],
    ])
      expect(parseTilePath(path), path).to.equal(undefined);
  });

  it('have the specified paths and widths for 70,000 entries', () => {
    const widths = (level: number): number[] => {
      const found: number[] = [];
      for (let index = 0; tileWidth(70_000, level, index) > 0; index++) found.push(tileWidth(70_000, level, index));
      return found;
    };
    expect(widths(0)).to.deep.equal([...new Array<number>(273).fill(256), 112]);
    expect(widths(1)).to.deep.equal([256, 17]);
    expect(widths(2)).to.deep.equal([1]);
    expect(tileWidth(256, 1, 0)).to.equal(1);
    expect(tileWidth(70_000, 'entries', 273)).to.equal(112);
  });

  it('are refused if an entry is truncated', () => {
    const bundle = Uint8Array.of(0, 1, 7, 0, 0, 0, 2, 8, 9);
    expect(entriesIn(bundle).map(toHex)).to.deep.equal(['07', '', '0809']);
    for (const length of [1, 2, 4, 6, 8]) expect(() => entriesIn(bundle.subarray(0, length))).to.throw('cut off');
  });
});

describe('policies', () => {
  const log = party('vouch.example/log', ED25519);
  const [a, b, c] = ['a', 'b', 'c'].map((name) => party(`${name}.example`, COSIGNATURE)) as [Party, Party, Party];
  const lines = (...more: readonly string[]): string =>
    [
      '# who is known',
      `log ${formatVerifierKey(log.key)} https://vouch.example/log`,
      ` witness\tA ${formatVerifierKey(a.key)}`,
      `witness B ${formatVerifierKey(b.key)} https://b.example`,
      `witness C ${formatVerifierKey(c.key)}`,
      '',
      ...more,
    ].join('\n');
  const text = treeHeadText({ origin: log.key.name, size: 1, root: leafHash(toUtf8('entry')) });
  const noteBy = (...witnesses: readonly Party[]): string =>
    formatNote({
      text,
      signatures: [signed(log, text), ...witnesses.map((one) => cosigned(one, text, 1_700_000_000))],
    });

  it('require their quorum', () => {
    const policy = parsePolicy(lines('group two 2 A B', 'group all all two C', 'quorum all'));
    expect(verifyTreeHead(noteBy(a, b, c), policy).witnesses.map(({ name }) => name)).to.deep.equal(['A', 'B', 'C']);
    expect(() => verifyTreeHead(noteBy(a, b), policy)).to.throw('only A, B cosigned the checkpoint of 1 entry');
    expect(() => verifyTreeHead(noteBy(), policy)).to.throw('no witness of the policy cosigned');
    const any = parsePolicy(lines('group some any A B', 'quorum some'));
    expect(verifyTreeHead(noteBy(b), any).witnesses).to.deep.equal([{ name: 'B', timeSecs: 1_700_000_000 }]);
    expect(() => verifyTreeHead(noteBy(c), any)).to.throw('only C cosigned');
    expect(verifyTreeHead(noteBy(), parsePolicy(lines('quorum none'))).size).to.equal(1);
  });

  it('refuse the checkpoint of another log, and a false signature', () => {
    const policy = parsePolicy(lines('quorum A'));
    const other = party(log.key.name, ED25519);
    const byOther = formatNote({ text, signatures: [signed(other, text), cosigned(a, text, 1)] });
    expect(() => verifyTreeHead(byOther, policy)).to.throw('no log of the policy has signed');
    const foreign = treeHeadText({ origin: 'other.example', size: 1, root: leafHash(toUtf8('entry')) });
    const renamed = formatNote({ text: foreign, signatures: [signed(log, foreign), cosigned(a, foreign, 1)] });
    expect(() => verifyTreeHead(renamed, policy)).to.throw('no log of the policy has signed');
    const swapped = formatNote({
      text,
      signatures: [signed(log, text), { ...cosigned(b, text, 1), name: a.key.name, keyId: a.key.id }],
    });
    expect(() => verifyTreeHead(swapped, policy)).to.throw('the cosignature of a.example is not of this checkpoint');
  });

  it('are refused with their line if malformed', () => {
    const of = formatVerifierKey;
    for (const [wrong, why] of [
      [lines(), 'no quorum line'],
      [lines('quorum D'), 'line 7 of the policy: D is not defined'],
      [lines('quorum A', 'quorum B'), 'line 8 of the policy: there is a quorum already'],
      [lines('group g 3 A B', 'quorum g'), '3 is not a number up to 2, the number of members'],
      [lines('group g 0 A B', 'quorum g'), '0 is not a number'],
      [lines('group g any A', 'group h any A', 'quorum h'), 'A is a member of a group already'],
      [lines('group A any B', 'quorum A'), 'A is defined already'],
      [lines('group none any B', 'quorum none'), '"none" cannot be the name'],
      [lines(`witness D ${of(a.key)}`, 'quorum D'), 'a.example is in the policy already'],
      [lines(`witness D ${of(verifierKey('d', COSIGNATURE, log.key.publicKey))}`, 'quorum D'), 'in the policy already'],
      [lines(`witness D ${of(party('d', ED25519).key)}`, 'quorum D'), 'type 1 instead of 4'],
      [lines('trust me', 'quorum A'), '"trust" is not log, witness'],
      [lines('quorum A\r'), 'control character'],
    ] as const)
      expect(() => parsePolicy(wrong), wrong).to.throw(why);
  });

  it('decide on proofs of entries', () => {
    const policy = parsePolicy(lines('quorum A'));
    const proof = formatTlogProof({ index: 0, path: [], checkpoint: noteBy(a) });
    expect(verifyTlogProof(proof, toUtf8('entry'), policy).index).to.equal(0);
    expect(parseTlogProof(proof.replace('index', 'extra AAAA\nindex')).index).to.equal(0);
    expect(() => verifyTlogProof(proof, toUtf8('another'), policy)).to.throw(
      'the entry is not number 0 of the 1 entry',
    );
    expect(() => verifyTlogProof(proof.replace('index 0', 'index 1'), toUtf8('entry'), policy)).to.throw(
      'not number 1',
    );
    for (const [wrong, why] of [
      [proof.replace('@v1', '@v2'), 'does not begin with'],
      [proof.replace('index 0', 'index 00'), 'no index'],
      [proof.replace('index 0\n', 'index 0\nAAAA\n'), 'not 32 bytes'],
      ['c2sp.org/tlog-proof@v1\nindex 0\n', 'no checkpoint'],
    ] as const)
      expect(() => parseTlogProof(wrong), wrong).to.throw(why);
  });
});

describe('entries of the service log', () => {
  it('are refused if a byte is missing, added or of another version', () => {
    const deletion = Uint8Array.of(...toUtf8('VLE1'), 2, 0, 0, 0, ...new Array<number>(48).fill(0));
    expect(parseEntry(deletion).type).to.equal('deletion');
    expect(() => parseEntry(deletion.subarray(0, 55))).to.throw('ends 1 byte early');
    expect(() => parseEntry(Uint8Array.of(...deletion, 0))).to.throw('1 byte too many');
    expect(() => parseEntry(deletion.with(4, 5))).to.throw('unknown type 5');
    expect(() => parseEntry(deletion.with(3, 0x32))).to.throw('does not begin with VLE1');
    expect(() => parseEntry(deletion.with(5, 1))).to.throw('should be zero');
  });

  it('count collections in a census, and name the missing ones in order', () => {
    const u64 = (value: number): number[] => [value, 0, 0, 0, 0, 0, 0, 0];
    const census = (...missing: number[]): Uint8Array =>
      Uint8Array.of(...toUtf8('VLE1'), 3, 0, 0, 0, ...u64(7), ...u64(99), ...missing.flatMap(u64));
    expect(parseEntry(census())).to.deep.equal({ type: 'census', present: 7, timeMs: 99, missing: [] });
    expect(parseEntry(census(2, 5))).to.deep.include({ missing: [2, 5] });
    for (const [wrong, why] of [
      [census(5, 2), 'out of order'],
      [census(2, 2), 'out of order'],
      [census().subarray(0, 23), 'ends 1 byte early'],
      [census(2).subarray(0, 31), '7 bytes too many'],
    ] as const)
      expect(() => parseEntry(wrong), why).to.throw(why);
  });
});

describe('base64', () => {
  it('is canonical', () => {
    for (const text of ['', 'AA==', 'AAA=', 'AAAA', '+/8=']) expect(toBase64(fromBase64(text)!)).to.equal(text);
    for (const text of ['A', 'AA', 'AA=', 'AB==', 'A===', '-_8=', 'AAAA\n'])
      expect(fromBase64(text), text).to.equal(undefined);
  });
});
