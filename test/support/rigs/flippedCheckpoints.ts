/** A signed checkpoint with one bit flipped, for each bit of its text, its signature and its key. */
import type { WrittenCheckpoint } from './writtenLog.js';

interface Flipped {
  /** Names the flipped bit. */
  readonly bit: string;
  readonly checkpoint: object;
}

export function* flippedCheckpoints(checkpoint: WrittenCheckpoint): Generator<Flipped> {
  for (const [bit, bytes] of flippedBits(Buffer.from(checkpoint.checkpoint)))
    yield { bit: `bit ${bit} of the text`, checkpoint: { ...checkpoint, checkpoint: bytes.toString() } };
  const { key_id: _, ...withoutId } = checkpoint;
  for (const field of ['signature', 'public_key'] as const)
    for (const [bit, bytes] of flippedBits(Buffer.from(checkpoint[field], 'hex')))
      yield { bit: `bit ${bit} of ${field}`, checkpoint: { ...withoutId, [field]: bytes.toString('hex') } };
}

/** Yields each bit with the bytes in which only it is flipped; these are valid until the next one. */
function* flippedBits(bytes: Buffer): Generator<readonly [bit: number, bytes: Buffer]> {
  for (let bit = 0; bit < 8 * bytes.length; bit++) {
    bytes[bit >> 3]! ^= 1 << (bit & 7);
    yield [bit, bytes];
    bytes[bit >> 3]! ^= 1 << (bit & 7);
  }
}
