/** Limits of new events, which every write meets, from any process. A log with larger events still opens. */
import { expect } from 'chai';
import type { EventLimits } from '../../../../shard/state/eventLimits.js';
import type { Results } from '../../../../shared/protocol/calls.js';
import type { WriteCall } from '../../../../shared/protocol/writes.js';
import { expectCode } from '../../../support/expectations.js';
import {
  batchOf,
  configOf,
  DEFAULT_LIMITS,
  Engine,
  fixed,
  insertOf,
  requestIdOf,
  soon,
  type TestCollection,
} from '../../../support/rigs/engine.js';
import { MemoryVault } from '../../../support/rigs/memoryVault.js';
import { ScriptedLogs } from '../../../support/rigs/scriptedLogs.js';

const ID = 7;
const LOW: EventLimits = { metadataBytes: 10, textBytes: 12, payloadBytes: 14, batchVectors: 3 };

const bytes = (length: number): Uint8Array => new Uint8Array(length).fill(0x61);
const words = (length: number): string => 'ä'.repeat(length / 2);
const two = batchOf([fixed(1, 2), fixed(3, 4)]);
const encrypted = (length: number): WriteCall => ({
  op: 'insertEncrypted',
  payload: bytes(length),
  keyId: 'ab'.repeat(16),
  tag: 0,
  requestId: null,
});

/** Kind of write, its limit, and a call of a given size. */
const SIZED: readonly (readonly [way: string, limit: keyof EventLimits, call: (size: number) => WriteCall])[] = [
  ['metadata of an insert', 'metadataBytes', (size) => insertOf(fixed(1, 2), { metadata: bytes(size) })],
  ['text of an insert', 'textBytes', (size) => insertOf(fixed(1, 2), { text: words(size) })],
  ['metadata of a batch', 'metadataBytes', (size) => ({ ...two, metadata: [null, bytes(size)] })],
  ['text of a batch', 'textBytes', (size) => ({ ...two, texts: [null, Buffer.from(words(size))] })],
  [
    'metadata of an upsert',
    'metadataBytes',
    (size) => ({ ...two, metadata: [null, bytes(size)], externalIds: ['a', 'b'] }),
  ],
  [
    'text of an upsert',
    'textBytes',
    (size) => ({ ...two, texts: [null, Buffer.from(words(size))], externalIds: ['a', 'b'] }),
  ],
  ['metadata that replaces', 'metadataBytes', (size) => ({ op: 'updateMetadata', id: 1, metadata: bytes(size) })],
  ['payload of an encrypted insert', 'payloadBytes', encrypted],
  [
    'number of vectors of a batch',
    'batchVectors',
    (size) => batchOf(Array.from({ length: size }, (_, i) => fixed(i, 1))),
  ],
]; // prettier-ignore

/** Calls that no coordinator sends. */
const MALFORMED: readonly (readonly [call: WriteCall, reason: RegExp])[] = [
  [insertOf(fixed(1, 2), { requestId: bytes(5) }), /request id has 5 bytes/],
  [{ ...two, requestIds: [null, bytes(17)] }, /request id has 17 bytes/],
  [{ ...encrypted(1), requestId: bytes(0) } as WriteCall, /request id has 0 bytes/],
  [{ op: 'deleteMany', of: { ids: [1] }, requestId: bytes(5) }, /request id has 5 bytes/],
  [{ ...two, externalIds: ['a'] }, /2 vectors and 1 entry of externalIds/],
  [{ ...two, texts: [null, null, null] }, /2 vectors and 3 entries of texts/],
  [{ ...two, texts: [null, Uint8Array.of(0xff)] }, /item 1 of the batch: text is not UTF-8/],
  [{ ...two, externalIds: ['a', 'b'.repeat(257)] }, /1 to 256 bytes/],
  [{ op: 'addNode', kind: 7, recordId: null }, /node kind 7 is not known; kinds are 0 to 6/],
  [{ op: 'addEdge', from: 1, to: 1, kind: 9 }, /edge kind 9 is not known; kinds are 0 to 8/],
]; // prettier-ignore

describe('the limits of new events', () => {
  let logs: ScriptedLogs;
  let collection: TestCollection;

  async function reopen(limits: Partial<EventLimits>): Promise<void> {
    await collection?.hosted.close({ keep: true });
    collection = new Engine(logs, { limits }).host(configOf(ID));
  }

  beforeEach(async () => {
    logs = new ScriptedLogs();
    collection = new Engine(logs, { limits: LOW }).host(configOf(ID));
    await collection.insert([5, 5]);
    await collection.write({ op: 'addNode', kind: 1, recordId: null });
  });
  afterEach(() => collection.hosted.close({ keep: true }));

  /** Expects a refusal that writes nothing, while another write of the same commit succeeds. */
  async function expectRefusedAlone(call: WriteCall, reason: RegExp): Promise<void> {
    const before = await collection.records();
    const [refusal, beside] = await Promise.all([
      expectCode(collection.write(call), 'validation_error'),
      collection.insert([6, 6]),
    ]);
    expect(refusal.message).to.match(reason);
    expect(beside.deduplicated).to.equal(false);
    expect(await collection.records()).to.equal(before + 1);
  }

  for (const [way, limit, call] of SIZED)
    it(`allow ${way} up to ${limit} and not more`, async () => {
      await collection.write(call(LOW[limit]));
      const step = limit === 'textBytes' ? 2 : 1;
      await expectRefusedAlone(
        call(LOW[limit] + step),
        new RegExp(`at most ${LOW[limit]} are allowed \\(limits.${limit}\\)$`),
      );
    });

  it('refuse a malformed write, without failing another write of its commit', async () => {
    for (const [call, reason] of MALFORMED) await expectRefusedAlone(call, reason);
  });

  it('refuse an encrypted insert before it creates a key', async () => {
    const vault = new MemoryVault();
    const withVault = new Engine(new ScriptedLogs(), { limits: LOW, vault }).host(configOf(ID));
    await expectCode(withVault.write(encrypted(LOW.payloadBytes + 1)), 'validation_error');
    await expectCode(withVault.write({ ...encrypted(1), requestId: bytes(5) } as WriteCall), 'validation_error');
    expect(vault.keys).to.equal(0);
    await withVault.write(encrypted(LOW.payloadBytes));
    expect(vault.keys).to.equal(1);
    await withVault.hosted.close({ keep: true });
  });

  it('refuse records under keys before the keys are made, as a quota does', async () => {
    const vault = new MemoryVault();
    const withVault = new Engine(new ScriptedLogs(), { limits: LOW, vault, capacity: 1 }).host(configOf(ID));
    const refused = (call: object, code: Parameters<typeof expectCode>[1]) =>
      expectCode(withVault.write(call as WriteCall), code);
    const large = bytes(LOW.metadataBytes + 1);
    const record = { op: 'insert', vector: bytes(8), tag: 0, requestId: null, metadata: null, text: null };
    for (const keyId of ['new', 'd'.repeat(32)])
      for (const more of [{ metadata: large }, { expiresAtMs: 1_000 }])
        await refused({ ...record, ...more, keyId }, 'validation_error');
    const batch = { op: 'insertBatch', count: 1, vectors: bytes(8), metadata: null, texts: null, requestIds: null };
    const upsert = { ...batch, externalIds: ['a'], keyIds: ['new'], since: 0 };
    await refused({ ...batch, metadata: [large], keyIds: ['new'] }, 'validation_error');
    await refused({ ...upsert, since: 1 }, 'validation_error');
    expect(vault.keys).to.equal(0);
    await withVault.write(upsert as WriteCall);
    await refused(upsert, 'conflict');
    await refused({ ...record, keyId: 'new' }, 'capacity_exceeded');
    expect(vault.keys).to.equal(1);
    await withVault.hosted.close({ keep: true });
  });

  it('do not apply to existing events: a log with larger ones opens and can be written', async () => {
    await reopen({});
    for (const [, limit, call] of SIZED) await collection.write(call(LOW[limit] + 2));
    const before = (await collection.hosted.run({ op: 'proofState' }, soon())) as Results['proofState'];
    const records = await collection.records();
    await reopen(LOW);
    expect(await collection.hosted.run({ op: 'proofState' }, soon())).to.deep.equal(before);
    expect((await collection.get(1)).metadata).to.have.length(LOW.metadataBytes + 2);
    await collection.insert([1, 1], { metadata: bytes(LOW.metadataBytes) });
    expect(await collection.records()).to.equal(records + 1);
  });

  it('do not apply to a repeated write, which is answered as before', async () => {
    await reopen({});
    const extra = { metadata: bytes(LOW.metadataBytes + 1), requestId: requestIdOf(1) };
    const first = await collection.insert([1, 1], extra);
    await reopen(LOW);
    expect(await collection.insert([1, 1], extra)).to.deep.equal({ ...first, deduplicated: true });
  });

  it('are 64 KiB by default for metadata, text and payload', () => {
    const { metadataBytes, textBytes, payloadBytes } = DEFAULT_LIMITS;
    expect([metadataBytes, textBytes, payloadBytes]).to.deep.equal([65_536, 65_536, 65_536]);
  });

  describe('in an import', () => {
    const OTHER_ID = 9;
    const { project, name } = configOf(ID);
    const copied = { ...configOf(OTHER_ID, 'copy'), origin: { project, name, id: ID } };

    for (const [way, limit, call] of SIZED.filter(([, name]) => name !== 'batchVectors'))
      it(`refuse a frame with ${way} beyond ${limit}, by its event`, async () => {
        await reopen({});
        await collection.write(call(LOW[limit] + 2));
        await collection.insert([7, 7]);
        const frames = logs.frames(ID);
        const away = new ScriptedLogs();
        const copy = new Engine(away, { limits: LOW }).host(copied);
        const { message } = await expectCode(
          copy.hosted.run({ op: 'importFrames', frames, upTo: 100 }, soon()),
          'validation_error',
        );
        expect(message).to.match(
          new RegExp(`^a frame of the import is refused: event [34]: .* takes ${LOW[limit] + 2} bytes; at most`),
        );
        expect(away.frames(OTHER_ID).map((frame) => Buffer.from(frame))).to.deep.equal(
          frames.slice(0, 2).map((frame) => Buffer.from(frame)),
        );
        await copy.hosted.close({ keep: true });
        // With the limit raised the import continues, and ends with an equal log.
        const raised = new Engine(away).host(copied);
        await raised.hosted.run({ op: 'importFrames', frames, upTo: 100 }, soon());
        expect(away.frames(OTHER_ID)).to.have.length(frames.length);
        await raised.hosted.close({ keep: true });
      });
  });
});
