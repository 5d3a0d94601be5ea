// Covers: verifier/checkpoint.ts, verifier/signedText.ts
import { expect } from 'chai';
import { verifyCheckpoint } from '../../../verifier/checkpoint.js';
import { flippedCheckpoints } from '../../support/rigs/flippedCheckpoints.js';
import { writeCheckpoint, writeLog } from '../../support/rigs/writtenLog.js';

describe('the verifier of checkpoints', () => {
  it('refuses a checkpoint with any bit of its text, signature or key flipped', async () => {
    const log = writeLog();
    const flipped = [...flippedCheckpoints(await writeCheckpoint(log, log.events.length))];
    expect(flipped).to.have.length.above(1_000);
    for (const { bit, checkpoint } of flipped) expect(() => verifyCheckpoint(checkpoint), bit).to.throw();
  });
});
