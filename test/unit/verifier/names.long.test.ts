// Covers: scripts/verify.ts, scripts/verify/, verifier/claims.ts, verifier/checkpoint.ts
/** Valid input of another collection, log or service than expected: it is marked, and the exit code is not 0. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { verify, withFolder } from '../../support/launch/runVerify.js';
import { formatExamples } from '../../support/rigs/formatExamples.js';
import {
  ORIGIN,
  PUBLIC_KEY,
  signed,
  type WrittenCheckpoint,
  writeCheckpoint,
  writeConsistency,
  writeExport,
  writeInclusion,
  writeLog,
} from '../../support/rigs/writtenLog.js';

const log = writeLog();
const SIZE = log.events.length;
const KEY = ['--key', PUBLIC_KEY];
const OTHER = 'default/copy/99';
const OTHER_NAME = 'default/copy, id 99';
const OWN_NAME = `${ORIGIN.project}/${ORIGIN.name}, id ${ORIGIN.id}`;

/** The checkpoint that a node signs for an import of the log as another collection. */
const asOther = ({ checkpoint }: WrittenCheckpoint): WrittenCheckpoint =>
  signed(checkpoint.replace(`${ORIGIN.project}/${ORIGIN.name}/${ORIGIN.id}`, OTHER));

interface Files {
  readonly inclusion: string;
  readonly consistency: string;
  readonly own: string;
  readonly other: string;
  readonly earlier: string;
  readonly export: string;
}

const withFiles = (work: (files: Files, folder: string) => Promise<void>): Promise<void> =>
  withFolder(async (folder) => {
    const save = async (name: string, content: object | Uint8Array): Promise<string> => {
      const path = join(folder, name);
      await writeFile(path, content instanceof Uint8Array ? content : JSON.stringify(content));
      return path;
    };
    const own = await writeCheckpoint(log, SIZE);
    await work(
      {
        inclusion: await save('inclusion.json', writeInclusion(log, 2, SIZE)),
        consistency: await save('consistency.json', writeConsistency(log, 3, SIZE)),
        own: await save('own.json', own),
        other: await save('other.json', asOther(own)),
        earlier: await save('earlier.json', await writeCheckpoint(log, 3)),
        export: await save('notes.vouchlog', (await writeExport(log)).bytes),
      },
      folder,
    );
  });

/** Verifies valid input, and expects exit code 4 and its other name in the output. */
async function expectOther(args: readonly string[], found: string, expected: string): Promise<void> {
  const { code, text } = await verify(args);
  expect(text).to.include(`of another collection: ${found}\n  expected      ${expected}`);
  expect(code, text).to.equal(4);
}

describe('the verifier, given another name than expected', () => {
  it('marks a checkpoint whose collection, id or project is not the expected one', () =>
    withFiles(async ({ own }) => {
      for (const [asked, expected] of [
        [['--collection', 'copy'], 'copy'],
        [['--collection', '18'], '18'],
        [['--project', 'shop'], 'shop/notes'],
        [['--collection', 'notes', '--project', 'shop'], 'shop/notes'],
      ] as const)
        await expectOther(['checkpoint', own, ...KEY, ...asked], OWN_NAME, expected);
      for (const asked of [
        ['--collection', 'notes'],
        ['--collection', '17', '--project', 'acme'],
      ]) {
        const { code, text } = await verify(['checkpoint', own, ...KEY, ...asked]);
        expect(code, text).to.equal(0);
      }
    }));

  it('marks a proof under a checkpoint of another collection', () =>
    withFiles(async ({ inclusion, consistency, own }) => {
      for (const proof of [
        ['inclusion', inclusion],
        ['consistency', consistency],
      ])
        await expectOther([...proof, '--checkpoint', own, ...KEY, '--collection', 'copy'], OWN_NAME, 'copy');
    }));

  it('marks checkpoints of a collection and of its import, although their logs are equal', () =>
    withFiles(async ({ inclusion, consistency, own, other, earlier }) => {
      for (const proof of [
        ['inclusion', inclusion, '--checkpoint', own],
        ['consistency', consistency, '--checkpoint', earlier],
      ])
        await expectOther(
          [...proof, '--checkpoint', other, ...KEY],
          OTHER_NAME,
          `${OWN_NAME}, as in the first checkpoint`,
        );
      const both = await verify(['consistency', consistency, '--checkpoint', earlier, '--checkpoint', own, ...KEY]);
      expect(both.code, both.text).to.equal(0);
    }));

  it('marks a record whose body names another collection than the checkpoint', () =>
    withFiles(async ({ inclusion, own }, folder) => {
      const example = (await formatExamples()).find(({ title }) => title.startsWith('receipt of event 2'))!;
      const receipt = join(folder, 'receipt.json');
      await writeFile(receipt, example.text);
      const record = join(folder, 'record.json');
      const args = ['inclusion', inclusion, '--receipt', receipt, '--record', record, '--checkpoint', own, ...KEY];
      const values = { values: [0, 3], tag: 20 };
      await writeFile(record, JSON.stringify({ ...values, collection: 'ledger' }));
      await expectOther(args, OWN_NAME, 'ledger, as in the record');
      await writeFile(record, JSON.stringify({ ...values, collection: ORIGIN.name }));
      const same = await verify(args);
      expect(same.code, same.text).to.equal(0);
    }));

  it('marks an export of another collection, and a checkpoint with neither of its names', () =>
    withFiles(async ({ export: file, other, own }) => {
      await expectOther(['log', file, ...KEY, '--collection', 'copy'], OWN_NAME, 'copy');
      await expectOther(
        ['log', file, ...KEY, '--checkpoint', other],
        OTHER_NAME,
        `${OWN_NAME}, as the log has it (${other})`,
      );
      const { code, text } = await verify(['log', file, ...KEY, '--checkpoint', own, '--collection', ORIGIN.name]);
      expect(code, text).to.equal(0);
    }));

  it('refuses a catalog entry under the name of another collection', () =>
    withFolder(async (folder) => {
      const catalog = join(folder, 'registry', 'vouch-catalog');
      await mkdir(catalog, { recursive: true });
      const value = { id: 1, project: 'acme', name: 'notes' };
      await writeFile(join(catalog, 'n.json'), JSON.stringify({ key: 'acme.ledger', value }));
      const { code, text } = await verify(['folder', folder, '--collection', 'notes']);
      expect(text).to.include('the entry acme.ledger of the catalog is of another collection: acme/notes');
      expect(code).to.equal(2);
    }));

  it('accepts an expected name for a proof only with a checkpoint, and not for a receipt', async () => {
    for (const [args, message] of [
      [['inclusion', 'x', '--collection', 'c'], 'a proof does not name its collection, but a checkpoint does'],
      [['consistency', 'x', '--project', 'p'], 'a proof does not name its collection, but a checkpoint does'],
      [['receipt', 'x', '--collection', 'c'], '--collection does not go with receipt'],
    ] as const) {
      const { code, text } = await verify(args);
      expect(text).to.include(message);
      expect(code).to.equal(2);
    }
  });
});
