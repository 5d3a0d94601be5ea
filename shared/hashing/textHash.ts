/** A hash of texts that depends on secret random numbers, so that a client cannot choose texts whose hashes collide. */
import { hashEntropy } from '../clock.js';

const FNV_PRIME = 0x01000193;

/** Secret 32-bit numbers: one for each value of a code unit's low byte, then one for each value of its high byte. */
const WORDS = new Uint32Array(2 * 256);
new Uint8Array(WORDS.buffer).set(hashEntropy(WORDS.byteLength));

/** Returns 32 bits, unsigned. Costs some 1.5 ns a character. */
export function textHash(text: string): number {
  let mix = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    mix = Math.imul(mix ^ WORDS[unit & 0xff]! ^ WORDS[256 + (unit >>> 8)]!, FNV_PRIME);
  }
  // Low bits of a product do not depend on high bits of its factors. Mixing makes each bit of the result depend on all of them.
  mix = Math.imul(mix ^ (mix >>> 16), 0x85ebca6b);
  mix = Math.imul(mix ^ (mix >>> 13), 0xc2b2ae35);
  return (mix ^ (mix >>> 16)) >>> 0;
}
