// Covers: coordinator/serviceLog/logStore.ts, coordinator/serviceLog/entry.ts, coordinator/serviceLog/frame.ts
// Covers: coordinator/serviceLog/tree.ts, shared/hashing/u64.ts
/** The service log as a coordinator reads it, compared with the verifier's trees and formats. */
import { expect } from 'chai';
import { DELETION, deletionEntry, readEntryHead } from '../../../../coordinator/serviceLog/entry.js';
import { encodeFrame } from '../../../../coordinator/serviceLog/frame.js';
import { LogStore } from '../../../../coordinator/serviceLog/logStore.js';
import { ServiceTree } from '../../../../coordinator/serviceLog/tree.js';
import { systemClock } from '../../../../shared/clock.js';
import { Fenced, SERVICE_LOG_ID } from '../../../../shared/log/eventLog.js';
import { concat, toHex } from '../../../../verifier/bytes.js';
import {
  entriesIn,
  Frontier,
  isConsistent,
  leafHash,
  rootFromPath,
  TILE_WIDTH,
  TileTree,
} from '../../../../verifier/index.js';
import { rejection } from '../../../support/expectations.js';
import { ScriptedLogs } from '../../../support/rigs/scriptedLogs.js';

const entry = (i: number): Uint8Array => deletionEntry(i, i.toString(16).padStart(64, '0'), 1_700_000_000_000 + i);
const entriesFrom = (from: number, count: number): Uint8Array[] =>
  Array.from({ length: count }, (_, i) => entry(from + i));
const soon = (): number => systemClock.nowMs() + 5_000;
const storeOver = async (logs: ScriptedLogs): Promise<LogStore> =>
  new LogStore(await logs.open(SERVICE_LOG_ID), systemClock, () => 0);

describe('the tree of the service log', () => {
  it('has the roots, proofs and tiles of the verifier', async () => {
    const tree = new ServiceTree();
    const frontier = new Frontier();
    const [sizes, roots] = [[0, 1, 2, 3, 7, 8, 255, 256, 257, 600], new Map<number, Uint8Array>()];
    for (let size = 0; size <= 600; size++) {
      if (sizes.includes(size)) roots.set(size, frontier.root());
      tree.append(leafHash(entry(size)));
      frontier.append(leafHash(entry(size)));
    }
    for (const [size, root] of roots) {
      expect(toHex(tree.root(size)), `${size}`).to.equal(toHex(root));
      for (const [from, earlier] of roots) {
        if (from > size) continue;
        const proof = tree.consistency(from, size);
        expect(isConsistent({ size: from, root: earlier }, { size, root }, proof), `${from} to ${size}`).to.equal(true);
      }
      const tiles = new TileTree(size, async ({ level, index, width }) => tree.tile(level as number, index, width)!);
      for (const index of [0, size >> 1, size - 1].filter((at) => at >= 0 && at < size)) {
        const path = tree.inclusion(index, size);
        expect(toHex(rootFromPath(leafHash(entry(index)), index, size, path)!)).to.equal(toHex(root));
        expect((await tiles.inclusion(index)).map(toHex)).to.deep.equal(path.map(toHex));
      }
    }
    expect(tree.tile(0, 2, 80)).to.deep.equal(concat(Array.from({ length: 80 }, (_, i) => leafHash(entry(512 + i)))));
    expect(tree.tile(1, 0, 2)).to.have.length(2 * 32);
    const absent = [
      [0, 2, 90],
      [0, 3, 1],
      [1, 0, 3],
      [2, 0, 1],
    ] as const;
    for (const [level, index, width] of absent) expect(tree.tile(level, index, width)).to.equal(undefined);
  });
});

describe('the service log', () => {
  it('is equal for every reader, and after a restart', async () => {
    const logs = new ScriptedLogs();
    const [writer, reader] = [await storeOver(logs), await storeOver(logs)];
    for (let from = 0; from < 700; from += 70) await writer.append(entriesFrom(from, 70), soon());
    await reader.refresh();
    expect(reader.tree.size).to.equal(700);
    expect(toHex(reader.tree.root(700))).to.equal(toHex(writer.tree.root(700)));
    for (const [index, width] of [
      [0, TILE_WIDTH],
      [1, TILE_WIDTH],
      [2, 188],
      [2, 10],
      [0, 3],
    ] as const) {
      const bundle = await reader.bundle(index, width);
      expect(bundle).to.deep.equal(await writer.bundle(index, width));
      const found = entriesIn(bundle!).map((bytes) => readEntryHead(bytes).collectionId);
      expect(found).to.deep.equal(Array.from({ length: width }, (_, i) => TILE_WIDTH * index + i));
    }
    expect(await reader.bundle(2, 189)).to.equal(undefined);
    expect(reader.collections.get(699)).to.deep.include({ isDeleted: true, timeMs: 1_700_000_000_699, indexes: [699] });
    expect(DELETION).to.equal(2);
  });

  it('has one writer: another is fenced, reads, and then continues', async () => {
    const logs = new ScriptedLogs();
    const [first, second] = [await storeOver(logs), await storeOver(logs)];
    await first.append(entriesFrom(0, 2), soon());
    expect(await rejection(second.append(entriesFrom(100, 1), soon()))).to.be.instanceOf(Fenced);
    expect(second.tree.size).to.equal(0);
    await second.refresh();
    await second.append(entriesFrom(2, 1), soon());
    await first.refresh();
    expect(toHex(first.tree.root(3))).to.equal(toHex(second.tree.root(3)));
  });

  it('contains an entry once after an append of unknown outcome', async () => {
    for (const fate of ['landed', 'lost'] as const) {
      const logs = new ScriptedLogs();
      const store = await storeOver(logs);
      logs.fates.push(fate);
      await rejection(store.append(entriesFrom(0, 2), soon()));
      expect(store.tree.size, 'nothing is served that may not be durable').to.equal(0);
      await store.refresh();
      expect(store.tree.size).to.equal(fate === 'landed' ? 2 : 0);
    }
  });

  it('skips frames that were written for a sequence already taken', async () => {
    const logs = new ScriptedLogs();
    const store = await storeOver(logs);
    await store.append(entriesFrom(0, 3), soon());
    for (const count of [2, 9])
      logs.writeAs(SERVICE_LOG_ID, encodeFrame({ first: 0, entries: entriesFrom(50, count) }));
    await store.refresh();
    await store.append(entriesFrom(3, 1), soon());
    const later = await storeOver(logs);
    await later.refresh();
    expect(later.tree.size).to.equal(4);
    expect((await later.entries(1, 4)).map((bytes) => readEntryHead(bytes).collectionId)).to.deep.equal([1, 2, 3]);
  });

  it('does not verify if a frame is missing or damaged', async () => {
    for (const [break_, why] of [
      [
        (logs: ScriptedLogs) => logs.writeAs(SERVICE_LOG_ID, encodeFrame({ first: 9, entries: entriesFrom(9, 1) })),
        'comes entry 9',
      ],
      [
        (logs: ScriptedLogs) => logs.tamper(SERVICE_LOG_ID, 1, logs.frames(SERVICE_LOG_ID)[1]!.with(30, 99)),
        'checksum',
      ],
      [(logs: ScriptedLogs) => logs.tamper(SERVICE_LOG_ID, 1, Uint8Array.of(1, 2)), 'not a frame of version 1'],
    ] as const) {
      const logs = new ScriptedLogs();
      const store = await storeOver(logs);
      for (const from of [0, 2, 4]) await store.append(entriesFrom(from, 2), soon());
      break_(logs);
      const error = await rejection((await storeOver(logs)).refresh());
      expect(error.message)
        .to.match(/^the service log is damaged/)
        .and.include(why);
    }
  });
});
