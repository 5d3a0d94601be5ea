// Covers: scripts/verify/kinds.ts, scripts/verify/files.ts
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { assertNoOtherFile, readJson, readPolicy } from '../../../../scripts/verify/files.js';
import type { FileKind } from '../../../../scripts/verify/kinds.js';
import { rejection } from '../../../support/expectations.js';
import { verify, withFolder } from '../../../support/launch/runVerify.js';
import { formatExamples } from '../../../support/rigs/formatExamples.js';
import {
  writeCheckpoint,
  writeConsistency,
  writeExport,
  writeInclusion,
  writeLog,
} from '../../../support/rigs/writtenLog.js';

const KINDS: readonly FileKind[] = ['receipt', 'inclusion', 'consistency', 'checkpoint', 'erasure', 'record'];

const log = writeLog();
const SIZE = log.events.length;
const NOTE = `vouch.example/log\n7\nAAAA\n\n— vouch.example/log AAAA\n`;

/** Files by their kinds, with the advice of a command that takes another kind. */
async function files(): Promise<Record<string, readonly [content: string | Uint8Array, advice: RegExp]>> {
  const receipt = (await formatExamples()).find(({ title }) => title.startsWith('receipt of event 2'))!.text;
  const checkpoint = await writeCheckpoint(log, SIZE);
  const json = (value: object): string => JSON.stringify(value);
  return {
    receipt: [receipt, /is a receipt, .*npm run verify -- receipt \S+ checks it$/],
    'receipt.answer': [`{"id":2,"receipt":${receipt}}`, /is a receipt, .*npm run verify -- receipt \S+ checks it$/],
    inclusion: [json(writeInclusion(log, 2, SIZE)), /is an inclusion proof, .*-- inclusion \S+ checks it$/],
    consistency: [json(writeConsistency(log, 3, SIZE)), /is a consistency proof, .*-- consistency \S+ checks it$/],
    checkpoint: [json(checkpoint), /is a checkpoint, .*npm run verify -- checkpoint \S+ checks it$/],
    erasure: [json({ certificates: [] }), /is a certificate of erasure, .*-- erasure \S+ checks it$/],
    'checkpoint.text': [checkpoint.checkpoint, /is the text of a checkpoint, .*answer of GET \/v1\/proof\/checkpoint/],
    record: [json({ values: [0, 3], tag: 20 }), /is a record, .*npm run verify -- receipt RECEIPT --record \S+$/],
    export: [(await writeExport(log)).bytes, /is an export, .*npm run verify -- log \S+ checks it$/],
    access: [
      Buffer.from('\x20\x00\x00\x00VAF1'.padEnd(36, '\x00'), 'latin1'),
      /is a copy of an access log, .*-- access \S+ checks it$/,
    ],
    error: [json({ error: 'there is no such thing', code: 'not_found' }), /is an error .* "there is no such thing"$/],
    batch: [json({ ids: [1, 2] }), /is the answer to a batch, .*GET \/v1\/proof\/receipt/],
    state: [json({ final_state_hash: 'aa', sequence: 4 }), /is a state .*GET \/v1\/proof\/checkpoint/],
    keys: [json({ keys: [] }), /is a list of public keys, .*--key$/],
    policy: ['log vouch.example+00000000+AAAA\nquorum none\n', /is a policy, .*give it with --policy$/],
    note: [NOTE, /is a checkpoint of a service log, .*npm run monitor -- --log URL --policy FILE follows one$/],
    unknown: [json({ answer: 42 }), /is not an? [^:]+$/],
    list: ['[1, 2]', /is not an? [^:]+: it is not an object of JSON$/],
  };
}

const kindOf = (name: string): string => name.split('.')[0]!;

describe('a file of another kind', () => {
  it('is named with the command that checks it, whichever kind is expected', () =>
    withFolder(async (folder) => {
      for (const [name, [content, advice]] of Object.entries(await files())) {
        const path = join(folder, name);
        await writeFile(path, content);
        for (const kind of KINDS.filter((one) => name === 'checkpoint.text' || one !== kindOf(name)))
          expect((await rejection(readJson(kind, path))).message, `${name} as ${kind}`).to.match(advice);
      }
    }));

  it('is named too where an export, a data folder, an access log or a policy is expected', () =>
    withFolder(async (folder) => {
      for (const [name, [content, advice]] of Object.entries(await files())) {
        const path = join(folder, name);
        await writeFile(path, content);
        if (['unknown', 'list'].includes(name)) continue;
        if (name !== 'export') expect((await rejection(assertNoOtherFile('export', path))).message).to.match(advice);
        if (name !== 'policy') expect((await rejection(readPolicy(path))).message, name).to.match(advice);
        for (const kind of ['folder', 'access'] as const)
          if (kind !== name) expect((await rejection(assertNoOtherFile(kind, path))).message).to.match(advice);
      }
      await assertNoOtherFile('export', join(folder, 'export'));
      await assertNoOtherFile('folder', folder);
      // The length of its first frame begins with the character that begins JSON.
      await writeFile(join(folder, 'access'), Buffer.from([0x7b, 1, 0, 0, 1]));
      await assertNoOtherFile('access', join(folder, 'access'));
    }));

  it('ends each command with 2 and one line, also as the file of an option', () =>
    withFolder(async (folder) => {
      for (const [name, [content]] of Object.entries(await files())) await writeFile(join(folder, name), content);
      const at = (name: string): string => join(folder, name);
      for (const args of [
        ['receipt', at('inclusion')],
        [at('checkpoint')],
        ['inclusion', at('receipt')],
        ['consistency', at('inclusion')],
        ['checkpoint', at('error')],
        ['log', at('record')],
        ['folder', at('export')],
        ['inclusion', at('inclusion'), '--receipt', at('checkpoint')],
        ['inclusion', at('inclusion'), '--checkpoint', at('receipt')],
        ['receipt', at('receipt'), '--record', at('receipt')],
        ['log', at('export'), '--receipt', at('error')],
        ['checkpoint', at('checkpoint'), '--policy', at('receipt')],
      ]) {
        const { code, text } = await verify(args);
        expect(text, args.join(' ')).to.match(/^✘ verify {8}\S+ is [^\n]+, not an? [^\n]+: [^\n]+\n$/);
        expect(code, text).to.equal(2);
      }
    }));
});
