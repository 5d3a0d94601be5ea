// Covers: verifier/log.ts, verifier/replay.ts, verifier/events.ts, verifier/graph.ts, verifier/leaves.ts
// Covers: verifier/reading.ts
/** Logs with right checksums, chain and layout, and impossible content. */
import { expect } from 'chai';
import { verifyFrames } from '../../../verifier/log.js';
import {
  addEdge,
  addNode,
  checksummed,
  deleteMany,
  type FramePayloads,
  genesis,
  id,
  insert,
  insertEncrypted,
  KEY_A,
  KEY_B,
  updateMetadata,
  writeLog,
  writeLogAnd,
} from '../../support/rigs/writtenLog.js';

const NEXT = writeLog().events.length;
const LAST_FRAME = writeLog().frames.length;

/**
 * In the written log records 5 and 8 are live, 8 as `doc-7`; 2 and 7 are tombstoned; 3 is under a shredded key; 1, 4
 * and 6 are deleted. Node 3 exists and is linked to record 5; nodes 1 and 2 do not. Edge 1 was deleted, edge 2 with its
 * nodes.
 */
const IMPOSSIBLE: readonly (readonly [string, FramePayloads, RegExp])[] = [
  ['a second genesis', [1, [1, genesis()]], /genesis out of place/],
  ['a record id given twice', [2, [2, insert(6, [0, 0])]], /gives a record id out of order/],
  ['a record id left out', [2, [2, insert(10, [0, 0])]], /gives a record id out of order/],
  ['an encrypted record out of order', [2, [6, insertEncrypted(10, KEY_B)]], /gives a record id out of order/],
  ['another dimension', [2, [2, insert(9, [0, 0, 0])]], /has another dimension/],
  ['an insert under a shredded key', [2, [6, insertEncrypted(9, KEY_A)]], /under a key that is shredded/],
  ['a key shredded twice', [1, [7, KEY_A]], /shreds a key a second time/],
  ['an external id given twice', [3, [2, insert(9, [0, 0], { externalId: 'doc-7' })]], /that a live record has/],
  ['a replacement under no external id', [2, [12, insert(8, [0, 0])]], /names no external id/],
  [
    'a replacement under another external id',
    [2, [12, insert(8, [0, 0], { externalId: 'doc-8' })]],
    /under an external id that the record does not have/,
  ],
  [
    'a replacement of another record',
    [2, [12, insert(5, [0, 0], { externalId: 'doc-7' })]],
    /under an external id that the record does not have/,
  ],
  ['a replacement of what is tombstoned', [2, [12, insert(7, [0, 0], { externalId: 'doc-7' })]], /not live/],
  ['a replacement of another dimension', [2, [12, insert(8, [0], { externalId: 'doc-7' })]], /another dimension/],
  ['a soft delete of what is tombstoned', [1, [3, id(2)]], /not live/],
  ['a soft delete of what is shredded', [1, [3, id(3)]], /not live/],
  ['a soft delete of what is deleted', [1, [3, id(1)]], /not live/],
  ['a soft delete of what never was', [1, [3, id(9)]], /not live/],
  ['a delete of what is deleted', [1, [4, id(4)]], /not there/],
  ['a delete of what never was', [1, [4, id(9)]], /not there/],
  ['an end of deletions without deletions', [2, [13, deleteMany(1)]], /ends 1 deletions where 0 are before it/],
  ['an end of no deletion', [2, [13, deleteMany(0)]], /ends no deletion/],
  ['an update of what is tombstoned', [1, [5, updateMetadata(2, '{}')]], /not live/],
  ['an update of what is shredded', [1, [5, updateMetadata(3, '{}')]], /not live/],
  ['a node of a tombstoned record', [1, [8, addNode(4, 2, 0)]], /not live/],
  ['a node of a record that never was', [1, [8, addNode(4, 9, 0)]], /not live/],
  ['a node id given twice', [1, [8, addNode(3, 0, 0)]], /gives a node id out of order/],
  ['a delete of a node that went with its record', [1, [9, id(1)]], /deletes a node that is not there/],
  ['an edge from a deleted node', [1, [10, addEdge(3, 2, 3, 0)]], /to a node that is not there/],
  ['an edge to a node that never was', [1, [10, addEdge(3, 3, 4, 0)]], /to a node that is not there/],
  ['an edge id given twice', [1, [10, addEdge(2, 3, 3, 0)]], /gives an edge id out of order/],
  ['a delete of a deleted edge', [1, [11, id(1)]], /deletes an edge that is not there/],
  ['a delete of an edge that went with its node', [1, [11, id(2)]], /deletes an edge that is not there/],
];

const framesOf = (...frames: FramePayloads[]): Buffer[] => writeLogAnd(...frames).frames.map(({ bytes }) => bytes);

describe('the verifier of logs, on forged logs', () => {
  for (const [what, frame, reason] of IMPOSSIBLE)
    it(`refuses ${what}, by its event`, async () => {
      const { refusal } = await verifyFrames(framesOf(frame));
      expect(refusal?.what).to.match(reason);
      expect([refusal?.firstSequence, refusal?.lastSequence]).to.deep.equal([BigInt(NEXT), BigInt(NEXT)]);
      expect(refusal?.place).to.deep.equal({ name: `frame ${LAST_FRAME}`, byte: 68 });
    });

  it('refuses the second event of a frame by its own place', async () => {
    const fine = insert(9, [0, 0]);
    const { refusal } = await verifyFrames(framesOf([3, [2, fine], [3, id(2)]]));
    expect(refusal?.firstSequence).to.equal(BigInt(NEXT + 1));
    expect(refusal?.place.byte).to.equal(68 + 24 + fine.length + 4);
  });

  it('refuses a deleteMany event after fewer deletions in its frame than it counts', async () => {
    const ends: FramePayloads[][] = [
      [[2, [4, id(2)], [13, deleteMany(2)]]],
      [
        [2, [4, id(2)]],
        [2, [4, id(7)], [13, deleteMany(2)]],
      ],
      [[2, [4, id(2)], [13, deleteMany(1)], [4, id(7)], [13, deleteMany(2)]]],
      [[2, [4, id(2)], [8, addNode(4, 0, 1)], [4, id(7)], [13, deleteMany(2)]]],
    ];
    for (const frames of ends)
      expect((await verifyFrames(framesOf(...frames))).refusal?.what).to.match(
        /ends 2 deletions where [01] are before it/,
      );
    const fine = framesOf([2, [4, id(2)], [13, deleteMany(1)]], [2, [4, id(7)], [13, deleteMany(1)]]);
    expect((await verifyFrames(fine)).refusal).to.equal(undefined);
  });

  it('refuses a wrong count of live records, for any cause', async () => {
    for (const live of [0, 2, 4]) {
      const { refusal } = await verifyFrames(framesOf([live, [2, insert(9, [0, 0])]]));
      expect(refusal?.what).to.equal(`the frame counts ${live} live records where there are 3`);
    }
    expect((await verifyFrames(framesOf([3, [2, insert(9, [0, 0])]]))).refusal).to.equal(undefined);
  });

  /** The last frame with bytes replaced and its checksum recomputed. */
  async function patched(at: number, ...values: number[]): Promise<string | undefined> {
    const frames = framesOf([4, [2, insert(9, [0, 0])], [2, insert(10, [0, 0])]]);
    const bytes = Buffer.from(frames.at(-1)!.subarray(0, -16));
    bytes.set(values, at);
    return (await verifyFrames([...frames.slice(0, -1), checksummed(bytes)])).refusal?.what;
  }

  it('refuses a frame with a wrong header or content', async () => {
    const second = 64 + 4 + 80 + 4;
    expect(await patched(4, 1)).to.equal('the frame counts 1 event and holds 2');
    expect(await patched(4, 3)).to.equal('the frame counts 3 events and holds 2');
    expect(await patched(8, NEXT + 1)).to.match(/the frame begins with event \d+ instead of \d+/);
    expect(await patched(16, 0, 0)).to.match(/bytes of log before it, and there are/);
    expect(await patched(32, 1, 2, 3)).to.equal('the frame continues another chain');
    expect(await patched(second + 8, NEXT)).to.match(/has sequence \d+ in its bytes/);
    expect(await patched(second + 18, 0)).to.match(/goes back in time/);
    expect(await patched(second + 72, 1)).to.match(/another chain head than its events lead to/);
    expect(await patched(64, 255, 255, 255, 255)).to.match(/an event reaches beyond its frame/);
    expect(await patched(24, 0, 0, 0, 0, 0, 0, 0, 255)).to.match(/2\^53 or more/);
  });
});
