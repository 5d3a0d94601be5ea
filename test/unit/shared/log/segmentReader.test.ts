import { expect } from 'chai';
import { Blake3 } from '../../../../shared/hashing/blake3.js';
import { LOG_START } from '../../../../shared/log/eventLog.js';
import { rejection } from '../../../support/expectations.js';
import { flip, frameOf, labels, SegmentFolder, soonMs } from '../../../support/rigs/segmentFolder.js';

const FRAME_BYTES = 1 << 20;

describe('the reader of a segment', () => {
  it('verifies a large frame without hashing all of it at once', async () => {
    const folder = await SegmentFolder.make();
    const { hash } = Blake3.prototype;
    try {
      const log = await folder.open();
      await log.append(frameOf(1, FRAME_BYTES), LOG_START, soonMs());
      const hashedBytes: number[] = [];
      Blake3.prototype.hash = function (message) {
        hashedBytes.push(message.length);
        return hash.call(this, message);
      };
      expect(await labels(log)).to.deep.equal([1]);
      expect(Math.max(0, ...hashedBytes)).to.be.below(FRAME_BYTES / 4);
      await folder.edit(0, (bytes) => flip(bytes, FRAME_BYTES / 2));
      expect((await rejection(labels(log))).message).to.contain('the checksum of a frame does not verify');
    } finally {
      Blake3.prototype.hash = hash;
      await folder.remove();
    }
  });
});
