// Covers: verifier/log.ts, verifier/receipt.ts, verifier/receiptEvent.ts, verifier/alteration.ts, verifier/recordJson.ts
// Covers: scripts/verify/, verifier/json.ts, verifier/records.ts
/**
 * Forgeries by an attacker who can rewrite everything except the auditor's own files, and cannot find a hash collision.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { toHex } from '../../../verifier/bytes.js';
import { eventHash } from '../../../verifier/hashing.js';
import { parseJson } from '../../../verifier/json.js';
import { verifyFrames } from '../../../verifier/log.js';
import { readProof, type WriteReceipt } from '../../../verifier/receipt.js';
import { rebuiltEvent } from '../../../verifier/receiptEvent.js';
import { claimedRecord } from '../../../verifier/recordJson.js';
import { leafOf } from '../../../verifier/records.js';
import { verify, withFolder } from '../../support/launch/runVerify.js';
import { forgedReceipt } from '../../support/rigs/forgedReceipt.js';
import { formatExamples } from '../../support/rigs/formatExamples.js';
import {
  assembleExport,
  CREATED_MS,
  checksummed,
  DIMENSION,
  id,
  insert,
  momentAt,
  ORIGIN,
  PUBLIC_KEY,
  rootAt,
  signed,
  type WrittenCheckpoint,
  type WrittenLog,
  writeCheckpoint,
  writeInclusion,
  writeLog,
  writeLogAnd,
} from '../../support/rigs/writtenLog.js';

const log = writeLog();
const SIZE = log.events.length;
const SECOND = { values: [0, 3], tag: 20 };

async function exampleReceipt(title: string): Promise<WriteReceipt> {
  const found = (await formatExamples()).find((example) => example.title.startsWith(title));
  return JSON.parse(found!.text) as WriteReceipt;
}

/** Arguments with the known signer. */
const KEY = ['--key', PUBLIC_KEY];

/** Writes each value as a JSON file and returns the paths. */
const saved = (folder: string, files: Record<string, unknown>): Promise<Record<string, string>> =>
  Promise.all(
    Object.entries(files).map(async ([name, json]) => {
      const path = join(folder, `${name}.json`);
      await writeFile(path, JSON.stringify(json));
      return [name, path] as const;
    }),
  ).then(Object.fromEntries);

describe('a receipt under an inclusion proof', () => {
  it('with a made-up record and the event of a real one is refused if the record is given', () =>
    withFolder(async (folder) => {
      const receipt = await exampleReceipt('receipt of event 2');
      const invented = { values: [999, 999], tag: 20, text: 'I owe you a million' };
      const { values } = claimedRecord(invented, readProof(receipt.proof));
      const forged = forgedReceipt(receipt, { newLeaf: leafOf(values) });
      const files = await saved(folder, {
        ...{ receipt, forged, invented, record: SECOND },
        inclusion: writeInclusion(log, 2, SIZE),
        checkpoint: await writeCheckpoint(log, SIZE),
      });
      const checked = (receiptFile: string, ...more: string[]) =>
        verify([
          'inclusion',
          files.inclusion!,
          '--receipt',
          receiptFile,
          '--checkpoint',
          files.checkpoint!,
          ...KEY,
          ...more,
        ]);

      const alone = await verify(['receipt', files.forged!, '--record', files.invented!]);
      expect(alone.text).to.match(/its event is not the write of this record/);
      expect(alone.code).to.equal(1);
      const together = await checked(files.forged!, '--record', files.invented!);
      expect(together.text).to.match(/✘ receipt {7}its event is not the write/);
      expect(together.code).to.equal(1);
      expect((await checked(files.forged!)).text).to.match(
        /! record {8}its number and values come from the receipt alone/,
      );

      const honest = await checked(files.receipt!, '--record', files.record!);
      expect(honest.text).to.match(
        /✔ receipt {7}of this event: write 2, insert of record 2\n✔ record {8}the write wrote exactly these/,
      );
      expect(honest.code, honest.text).to.equal(0);
    }));

  it('with another collection, or another state than the one signed after it, is refused', () =>
    withFolder(async (folder) => {
      const receipt = await exampleReceipt('receipt of event 2');
      const files = await saved(folder, {
        receipt,
        moved: forgedReceipt(receipt, { configHash: Buffer.alloc(32, 7) }),
        changed: forgedReceipt(receipt, { newLeaf: Buffer.alloc(32, 7) }),
        inclusion: writeInclusion(log, 2, 3),
        checkpoint: await writeCheckpoint(log, 3),
      });
      const checked = (receiptFile: string) =>
        verify(['inclusion', files.inclusion!, '--receipt', receiptFile, '--checkpoint', files.checkpoint!, ...KEY]);
      for (const [file, reason] of [
        [files.moved, /another collection than the checkpoint/],
        [files.changed, /its state hash is not that of the checkpoint/],
      ] as const) {
        const { code, text } = await checked(file!);
        expect(text).to.match(reason);
        expect(code).to.equal(1);
      }
      const { code, text } = await checked(files.receipt!);
      expect(text).to.not.match(/! record/);
      expect(code, text).to.equal(0);
    }));

  it('for a deletion needs no record: its event is computed from the receipt', () =>
    withFolder(async (folder) => {
      const receipt = await exampleReceipt('receipt of event 5');
      const files = await saved(folder, { receipt, inclusion: writeInclusion(log, 5, SIZE) });
      const { code, text } = await verify(['inclusion', files.inclusion!, '--receipt', files.receipt!]);
      expect(text).to.match(/of this event: write 5, soft delete of record 2\n$/);
      expect(code).to.equal(0);
    }));

  it('for a change does not prove the inserted values, unless the state right after it is signed', () =>
    withFolder(async (folder) => {
      const receipt = await exampleReceipt('receipt of event 5');
      const invented = { values: [999, 999], state: 'tombstoned', inserted_ms: 0 };
      const { values } = claimedRecord(invented, readProof(receipt.proof));
      const truth = { ...SECOND, state: 'tombstoned', inserted_ms: CREATED_MS + 250 * 2 };
      const files = await saved(folder, {
        ...{ receipt, truth, invented, forged: forgedReceipt(receipt, { newLeaf: leafOf(values) }) },
        ...{ late: writeInclusion(log, 5, SIZE), signedLate: await writeCheckpoint(log, SIZE) },
        ...{ exact: writeInclusion(log, 5, 6), signedExact: await writeCheckpoint(log, 6) },
      });
      const checked = (name: string, record: string, inclusion: string, checkpoint: string) =>
        verify([
          ...['inclusion', files[inclusion]!, '--receipt', files[name]!, '--record', files[record]!],
          ...['--checkpoint', files[checkpoint]!, ...KEY],
        ]);
      for (const [name, record] of [
        ['forged', 'invented'],
        ['receipt', 'truth'],
      ] as const) {
        const { text } = await checked(name, record, 'late', 'signedLate');
        expect(text).to.match(/soft delete of record 2\n! record {8}its values come from the receipt alone/);
      }
      expect((await checked('forged', 'invented', 'exact', 'signedExact')).code).to.equal(1);
      const shown = await checked('receipt', 'truth', 'exact', 'signedExact');
      expect(shown.text).to.match(/✔ record {8}the write wrote exactly these values/);
      expect(shown.code, shown.text).to.equal(0);
    }));

  it('yields the event of a plaintext record from exactly the given fields', () => {
    const records: [number, 'insert' | 'change', bigint, object, string][] = [
      [
        1,
        'insert',
        1n,
        { values: [1, -0.5], tag: 10, metadata: { a: 1 }, text: 'one é', request_id: '01'.repeat(16) },
        'insert',
      ],
      [2, 'insert', 2n, SECOND, 'insert'],
      [5, 'change', 2n, { ...SECOND, state: 'tombstoned', inserted_ms: 0 }, 'soft delete'],
      [6, 'change', 1n, { values: [], metadata: '{"a":2}', inserted_ms: 0 }, 'update of metadata'],
      [17, 'change', 4n, { deleted: true }, 'delete'],
    ];
    for (const [sequence, kind, recordId, json, what] of records) {
      const timeMs = BigInt(CREATED_MS + 250 * sequence);
      const newLeaf = Buffer.alloc(32, what === 'delete' ? 0 : 1);
      const proof = {
        kind,
        recordId,
        sequence: BigInt(sequence),
        timeMs,
        newLeaf,
        actor: null,
        eventHash: eventHash(log.events[sequence]!),
      };
      const given = proof as unknown as ReturnType<typeof readProof>;
      expect(rebuiltEvent(given, claimedRecord(json, given)), what).to.equal(what);
      const other = { ...given, recordId: recordId + 1n };
      expect(rebuiltEvent(other, claimedRecord(json, other)), what).to.equal(undefined);
      expect(rebuiltEvent({ ...given, timeMs: timeMs + 1n }, claimedRecord(json, given)), what).to.equal(undefined);
    }
  });
});

describe('input of an auditor', () => {
  it('is refused if two JSON readers could read it differently', () => {
    const read = (text: string): unknown => parseJson(Buffer.from(text), 'it');
    expect(() => read('{"a":1,"b":{"a":2},"a":1}')).to.throw('it has the field "a" twice');
    expect(() => read('[{"x":"{\\"a\\":"},{"a":1,"\\u0061" : 2}]')).to.throw('it has the field "a" twice');
    expect(() => read('{"a":1,}')).to.throw('it is not JSON');
    expect(() => parseJson(Buffer.from([0x22, 0xff, 0x22]), 'it')).to.throw('it is not JSON');
    const fine = '{"a":["a","a",{"a":"a\\\\"}],"b":{"a":"\\"a\\":"},"c":"a"}';
    expect(read(fine)).to.deep.equal(JSON.parse(fine));
  });

  it('is refused if the answer names another record than its receipt', async () => {
    const receipt = await exampleReceipt('receipt of event 2');
    const { code, text } = await verify(['receipt', '-'], JSON.stringify({ id: 3, deduplicated: false, receipt }));
    expect(text).to.match(/the answer is about another record than the receipt in it/);
    expect(code).to.equal(1);
    expect((await verify(['receipt', '-'], JSON.stringify({ id: 2, receipt }))).code).to.equal(0);
  });

  it('is refused if a record could not have been sent like this', async () => {
    const proof = readProof((await exampleReceipt('receipt of event 2')).proof);
    for (const [change, problem] of [
      [{ metadata: [256] }, 'metadata is not an array of bytes'],
      [{ metadata: ['1'] }, 'metadata is not an array of bytes'],
      [{ metadata: 7 }, 'metadata is not an object'],
      [{ text: ['one'] }, 'text is not a text'],
      [{ text: '\ud800' }, 'text is not Unicode'],
      [{ values: [32_768] }, 'values holds 32768, which no record can have'],
      [{ values: '1' }, 'values is not an array of numbers'],
      [{ meta: {} }, 'meta is not a field of a record: there are values, vector, tag, '],
      [{ request_id: '01' }, 'request_id is not 32 hex digits, or 16 bytes'],
    ] as const)
      expect(() => claimedRecord({ ...SECOND, ...change }, proof), JSON.stringify(change)).to.throw(problem);
  });
});

/** The written log with other last frames, one for each tag, consistent in all hashes. */
const ending = (...tags: number[]): WrittenLog =>
  writeLogAnd(...tags.map((tag, i) => [3 + i, [2, insert(9 + i, [tag, 0])]] as const));

async function checkpointOf(of: WrittenLog, size: number): Promise<WrittenCheckpoint> {
  const { after } = await momentAt(of, size - 1);
  const [config, head, state] = [after.configHash, after.chainHead, after.stateHash].map((hash) => toHex(hash));
  const origin = `${ORIGIN.project}/${ORIGIN.name}/${ORIGIN.id}/${config}`;
  const lines = ['vouch checkpoint v1', origin, size, rootAt(of, size), head, state, CREATED_MS];
  return signed(lines.map((line) => `${line}\n`).join(''));
}

async function exportOf(of: WrittenLog): Promise<{ bytes: Buffer; framesAt: number[] }> {
  const size = of.events.length;
  const { checkpoint: note, signature, public_key } = await checkpointOf(of, size);
  const [, , , log_root, chain_head, state_hash] = note.split('\n');
  const made = { created_at_ms: CREATED_MS, index: {}, exported_at_ms: CREATED_MS };
  const ends = { log_root, chain_head, state_hash, checkpoint: { note, signature, public_key } };
  const log_bytes = of.frames.reduce((sum, { bytes }) => sum + bytes.length, 0);
  return assembleExport({ format: 1, origin: ORIGIN, dimension: DIMENSION, metric: 'squared_l2', ...made }, of, {
    frames: of.frames.length,
    sequence: size - 1,
    log_bytes,
    ...ends,
  });
}

describe('a rewritten log with consistent hashes', () => {
  it('is refused by an older checkpoint, with the first event, byte and time that can differ', () =>
    withFolder(async (folder) => {
      const [was, is] = [ending(1, 2, 3), ending(1, 9, 3)];
      const { bytes, framesAt } = await exportOf(is);
      const path = join(folder, 'notes.vouchlog');
      await writeFile(path, bytes);
      const checkpoints = [SIZE + 1, SIZE + 2, SIZE + 3].map((size) => checkpointOf(was, size));
      const files = await saved(folder, Object.fromEntries(Object.entries(await Promise.all(checkpoints))));
      const against = (...names: string[]) =>
        verify(['log', path, ...KEY, ...names.flatMap((name) => ['--checkpoint', files[name]!])]);

      expect((await verify(['log', path, ...KEY])).code).to.equal(0);
      const early = await against('0');
      expect(early.code, early.text).to.equal(0);
      const exact = await against('2', '0', '1');
      const time = (event: number): string => new Date(CREATED_MS + 250 * event).toISOString();
      const byte = (frame: number): string => (framesAt.at(frame)! + 68).toLocaleString('en-US');
      expect(exact.text).to.contain(
        `✘ altered       event ${SIZE + 1}, byte ${byte(-2)} of notes.vouchlog\n` +
          `  its time      ${time(SIZE + 1)}, by its own account\n` +
          `  before it     events 0 to ${SIZE} are unchanged\n`,
      );
      expect(exact.code).to.equal(1);
      const vague = await against('0', '2');
      expect(vague.text).to.contain(
        `✘ altered       one of the events ${SIZE + 1} to ${SIZE + 2}, byte ${byte(-1)} of notes.vouchlog\n` +
          `  its time      up to ${time(SIZE + 2)}, by its own account\n`,
      );
      expect(vague.code).to.equal(1);
    }));

  it('is refused with the time of the first event that cannot be read', async () => {
    const frames = log.frames.map(({ bytes }) => bytes);
    const time = BigInt(CREATED_MS + 250 * 3);
    const patched = (at: number, ...values: number[]) => {
      const bytes = Buffer.from(frames[1]!.subarray(0, -16));
      bytes.set(values, at);
      return verifyFrames([frames[0]!, checksummed(bytes)]);
    };
    for (const [what, at, ...values] of [
      ['an unknown type', 69, 99],
      ['a length too small', 64, 30],
      ['a length too large', 64, 255, 255],
      ['another count of live records', 24, 9],
      ['another content', 150, 7],
    ] as const) {
      const { refusal } = await patched(at, ...values);
      expect(refusal?.firstSequence, what).to.equal(3n);
      expect(refusal?.timeMs, what).to.equal(time);
    }
    const late = await patched(68 + 16, 0, 0, 0, 0, 0, 0, 31);
    expect(late.refusal?.what).to.match(/has a time that no date can be/);
  });

  it('is refused at the first bad frame, with the events before it that verify', () =>
    withFolder(async (folder) => {
      const { bytes } = await exportOf(writeLogAnd([9, [3, id(5)]]));
      const path = join(folder, 'notes.vouchlog');
      await writeFile(path, bytes);
      const { code, text } = await verify(['log', path]);
      expect(text).to.contain(`✘ refused       event ${SIZE}, `);
      expect(text).to.contain(`before it     events 0 to ${SIZE - 1} verify\n`);
      expect(code).to.equal(1);
    }));

  it('is refused by its version if that is unknown', () =>
    withFolder(async (folder) => {
      const { bytes } = await exportOf(ending(1));
      bytes.write('2', 8, 'latin1');
      const path = join(folder, 'notes.vouchlog');
      await writeFile(path, bytes);
      const { code, text } = await verify(['log', path]);
      expect(text).to.match(/an export of version 2: only version 1 is known here/);
      expect(code).to.equal(1);
    }));
});
