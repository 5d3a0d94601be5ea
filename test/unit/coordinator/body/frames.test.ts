import { expect } from 'chai';
import { checkedFrames, framesIn, joinFrames } from '../../../../coordinator/body/frames.js';
import { atOnce } from '../../../../shared/scheduling/slice.js';
import type { Client } from '../../../support/launch/client.js';
import { TestEdge } from '../../../support/rigs/testEdge.js';

/** Size of the smallest frame, without events. */
const FRAME_BYTES = 112;

describe('the frames of an import', () => {
  const frames = (count: number): Buffer => atOnce(joinFrames(Array(count).fill(new Uint8Array(FRAME_BYTES))));

  it('are the bytes between their lengths', () => {
    const given = [FRAME_BYTES, FRAME_BYTES + 1, 1_000].map((length, i) => new Uint8Array(length).fill(i));
    expect([...framesIn(checkedFrames(atOnce(joinFrames(given))))].map((frame) => [...frame])).to.deep.equal(
      given.map((frame) => [...frame]),
    );
    expect([...framesIn(checkedFrames(Buffer.alloc(0)))]).to.deep.equal([]);
  });

  it('are refused if one is cut short or smaller than any frame', () => {
    const two = frames(2);
    for (const length of [1, 3, 4, FRAME_BYTES, two.length - 1])
      expect(() => checkedFrames(two.subarray(0, length))).to.throw('no whole frame begins');
    const small = Buffer.concat([frames(1), atOnce(joinFrames([new Uint8Array(FRAME_BYTES - 1)]))]);
    expect(() => checkedFrames(small)).to.throw(`no whole frame begins at byte ${FRAME_BYTES + 4} of the body`);
  });

  describe('in one request', () => {
    let edge: TestEdge;
    let client: Client;
    before(async () => {
      edge = await TestEdge.start();
      client = await edge.client();
      await edge.backend.create('p', { name: 'c', dimension: 1, index: 'brute' });
      edge.backend.answer = () => ({ sequence: 0, chainHead: '', stateHash: '' });
    });
    after(() => edge.stop());

    it('are sent to the shard in messages of at most 8,192', async () => {
      expect((await client.postBytes('/v1/import/c/log', frames(20_000))).status).to.equal(200);
      const sizes = edge.backend.calls.map((call) => (call.op === 'importFrames' ? call.frames.length : 0));
      expect(sizes).to.deep.equal([8_192, 8_192, 3_616]);
    });
  });
});
