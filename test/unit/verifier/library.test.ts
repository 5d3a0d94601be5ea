// Covers: verifier/index.ts, verifier/hashing.ts
/** The verifier as a library: its core runs in a browser, without anything of Node. */
import { webcrypto } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createContext, runInContext } from 'node:vm';
import { expect } from 'chai';
import ts from 'typescript';
import { useBlake3 } from '../../../verifier/hashing.js';
import type * as Verifier from '../../../verifier/index.js';
import { formatExamples } from '../../support/rigs/formatExamples.js';
import { ROOT, readSources, type Source } from '../../support/sourceTree.js';

const NODE_ALONE = ['Buffer', 'process', 'require', 'module', 'global', 'setImmediate', '__dirname', 'NodeJS'];

const core = (): Source[] => readSources(['verifier']).filter(({ path }) => !path.startsWith('verifier/node/'));

function identifiersOf({ path, text }: Source): Set<string> {
  const found = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node)) found.add(node.text);
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(path, text, ts.ScriptTarget.ES2022));
  return found;
}

/** The file that a browser loads for an import; for a package, its browser variant. */
function browserFile(specifier: string, from: string): string {
  if (specifier.startsWith('.')) return join(dirname(from), specifier);
  const [, name, entry] = /^(@noble\/\w+)\/(.+)$/.exec(specifier) ?? [];
  if (name === undefined) throw new Error(`a browser has no ${specifier}`);
  const description = join(ROOT, 'node_modules', name, 'package.json');
  const { exports } = JSON.parse(readFileSync(description, 'utf8')) as { exports: Record<string, string> };
  return join(dirname(description), exports[`./${entry}`]!);
}

/** Loads the library in a realm that has only the language and the globals of every browser. */
function loadAsBrowser(): { readonly library: typeof Verifier; readonly evaluate: (code: string) => unknown } {
  const context = createContext({ TextEncoder, TextDecoder, crypto: webcrypto });
  const loaded = new Map<string, object>();
  const load = (path: string): object => {
    const known = loaded.get(path);
    if (known !== undefined) return known;
    const exports = {};
    loaded.set(path, exports);
    const compilerOptions = { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022 };
    const { outputText } = ts.transpileModule(readFileSync(path, 'utf8'), { compilerOptions });
    const run = runInContext(`(function (exports, require) {${outputText}\n})`, context, { filename: path });
    run(exports, (specifier: string) => load(browserFile(specifier, path)));
    return exports;
  };
  const library = load(fileURLToPath(new URL('../../../verifier/index.js', import.meta.url))) as typeof Verifier;
  return { library, evaluate: (code) => runInContext(code, context) };
}

const bytesOf = (hex: string): Uint8Array => new Uint8Array(Buffer.from(hex, 'hex'));

/** The JSON with the last character of the field changed. */
function altered(json: Record<string, unknown>, field: string): Record<string, unknown> {
  const text = String(json[field]);
  const at = text.length - (field === 'proof' ? 2 : 1);
  return { ...json, [field]: `${text.slice(0, at)}${text[at] === '0' ? '1' : '0'}${text.slice(at + 1)}` };
}

describe('the verifier as a library', () => {
  it('uses in its core no global of Node, and imports only what browsers load', () => {
    const sources = core();
    expect(sources.map(({ path }) => path)).to.include('verifier/index.ts');
    const named = sources.flatMap((source) => {
      const identifiers = identifiersOf(source);
      return NODE_ALONE.filter((name) => identifiers.has(name)).map((name) => `${source.path} names ${name}`);
    });
    expect(named).to.deep.equal([]);
    const imported = sources.flatMap(({ path, imports }) =>
      imports
        .filter(
          ({ specifier }) => !/^(?:\.\.?\/(?:tlog\/)?\w+\.js|@noble\/(?:hashes|curves)\/\w+\.js)$/.test(specifier),
        )
        .map(({ specifier }) => `${path} imports ${specifier}`),
    );
    expect(imported).to.deep.equal([]);
  });

  it('takes BLAKE3 from its caller, and refuses any other function', () => {
    const zeros = Object.assign(() => new Uint8Array(32), {
      create: () => ({ update: () => undefined, digest: () => new Uint8Array(32) }),
    });
    expect(() => useBlake3(zeros)).to.throw('this is not BLAKE3-256');
  });

  describe('in a realm without Node', () => {
    let library: typeof Verifier;
    let texts: ReadonlyMap<string, string>;
    const example = (start: string): string => [...texts].find(([title]) => title.startsWith(start))![1];
    const json = (start: string): Record<string, unknown> => JSON.parse(example(start));

    before(async () => {
      const browser = loadAsBrowser();
      library = browser.library;
      expect(browser.evaluate('[typeof Buffer, typeof process, typeof require, typeof global].join()')).to.equal(
        'undefined,undefined,undefined,undefined',
      );
      texts = new Map((await formatExamples()).map(({ title, text }) => [title, text]));
    });

    it('accepts the documented receipts, and refuses them with any field changed', () => {
      for (const title of texts.keys()) {
        if (!title.startsWith('receipt')) continue;
        const receipt = json(title);
        const check = (of: unknown): string[] => library.verifyReceipt(of as Verifier.WriteReceipt);
        expect(check(receipt), title).to.deep.equal([]);
        for (const field of ['old_root', 'new_root', 'state_hash', 'proof'])
          expect(check(altered(receipt, field)), `${title}, ${field}`).to.have.length.above(0);
        expect(check({ ...receipt, sequence: Number(receipt.sequence) + 1 })).to.deep.equal([
          'sequence is not the one of the proof',
        ]);
      }
    });

    it('accepts the documented proofs and the checkpoint, and refuses them with a bit changed', () => {
      const inclusion = json('inclusion');
      expect(library.toHex(library.verifyInclusion(inclusion).chainHead)).to.equal(example('chain head after 1'));
      expect(() => library.verifyInclusion(altered(inclusion, 'root'))).to.throw('does not lead to the root');
      const consistency = json('consistency of size 3');
      expect(library.verifyConsistency(consistency).to.size).to.equal(11n);
      expect(() => library.verifyConsistency(altered(consistency, 'proof'))).to.throw('does not lead to');
      const checkpoint = json('checkpoint');
      expect(library.verifyCheckpoint(checkpoint).root).to.equal(example('log root of size 3'));
      expect(() => library.verifyCheckpoint(altered(checkpoint, 'signature'))).to.throw('is not of this text');
    });

    it('replays the documented frame, and refuses it with a bit changed', async () => {
      const frame = bytesOf(example('frame'));
      const { refusal, state } = await library.verifyFrames([frame]);
      expect(refusal).to.equal(undefined);
      expect(library.toHex(state.stateRoot)).to.equal(example('state root after event 2'));
      expect(library.toHex(state.stateHash)).to.equal(example('state hash after event 2'));
      expect(library.toHex(state.logRoot)).to.equal(example('log root of size 3'));
      frame[100]! ^= 1;
      expect((await library.verifyFrames([frame])).refusal?.what).to.contain('its checksum does not match');
    });

    it('accepts the documented export, read by a function of the caller', async () => {
      const bytes = bytesOf(example('export'));
      const read = async (into: Uint8Array, offset: number, length: number, position: number) => {
        const part = bytes.subarray(position, position + length);
        into.set(part, offset);
        return { bytesRead: part.length };
      };
      const file = new library.ExportFile('notes.vouchlog', { read, close: async () => {} }, bytes.length);
      const report = await library.verifyLog(file);
      const { problems, checkpoint } = library.checkExport(file, report);
      expect([report.refusal, problems, checkpoint?.size]).to.deep.equal([undefined, [], 3n]);
    });
  });
});
