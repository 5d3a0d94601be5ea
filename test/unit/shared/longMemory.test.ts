import { expect } from 'chai';
import {
  adoptLong,
  keepSpare,
  LONG_BYTES,
  longMemory,
  longZeros,
  reuseLong,
  spareLong,
} from '../../../shared/longMemory.js';

const MIB = 1 << 20;

describe('long memory', () => {
  /** Takes all free memory of this thread. */
  beforeEach(() => {
    while (spareLong(0) !== undefined);
  });

  it('has the wanted size, and is lent to one owner at a time', () => {
    const sizes = [0, 1, LONG_BYTES - 1, LONG_BYTES, LONG_BYTES + 1, 300_000, MIB];
    const memory = sizes.flatMap((size) => [longMemory(size), longMemory(size)]);
    expect(memory.map(({ length }) => length)).to.deep.equal(sizes.flatMap((size) => [size, size]));
    expect(new Set(memory.map(({ buffer }) => buffer)).size).to.equal(memory.length);
  });

  it('serves the next message of about its size once it is freed', () => {
    const first = longMemory(300_000);
    reuseLong(first.subarray(7, 20));
    expect(longMemory(310_000).buffer).to.equal(first.buffer);
    expect(longMemory(310_000).buffer).not.to.equal(first.buffer);
  });

  it('is lent once if it is freed twice', () => {
    const first = longMemory(200_000);
    reuseLong(first);
    reuseLong(first);
    expect(longMemory(200_000).buffer).to.equal(first.buffer);
    expect(longMemory(200_000).buffer).not.to.equal(first.buffer);
  });

  it('is the smallest free memory that suffices', () => {
    const lent = [900_000, 300_000, 600_000].map((size) => longMemory(size));
    for (const memory of lent) reuseLong(memory);
    expect(longMemory(500_000).buffer).to.equal(lent[2]!.buffer);
    expect(longMemory(500_000).buffer).to.equal(lent[0]!.buffer);
    expect(longMemory(100_000).buffer).to.equal(lent[1]!.buffer);
  });

  it('is reused only if it is long and comes from here or another thread', () => {
    reuseLong(Buffer.allocUnsafeSlow(MIB));
    reuseLong(longMemory(LONG_BYTES - 1));
    adoptLong(new Uint8Array(LONG_BYTES - 1));
    adoptLong(new Uint8Array(new SharedArrayBuffer(MIB)));
    expect(spareLong(0)).to.equal(undefined);
  });

  it('is reused here after another thread has sent it', () => {
    const sent = new Uint8Array(200_000);
    adoptLong(sent);
    reuseLong(sent);
    keepSpare(new ArrayBuffer(100_000));
    expect(spareLong(150_000)).to.equal(sent.buffer);
    expect(spareLong(150_000)?.byteLength).to.equal(100_000);
  });

  it('takes at most 8 MiB while it is free', () => {
    for (const memory of [1, 2, 3, 4, 5].map(() => longMemory(2 * MIB))) reuseLong(memory);
    const free: ArrayBuffer[] = [];
    for (let memory = spareLong(0); memory !== undefined; memory = spareLong(0)) free.push(memory);
    expect(free.map(({ byteLength }) => byteLength)).to.deep.equal([2 * MIB, 2 * MIB, 2 * MIB, 2 * MIB]);
  });

  it('is cleared before it serves as zeros', () => {
    const first = longZeros(200_000);
    first.fill(9);
    reuseLong(first);
    const second = longZeros(200_000);
    expect(second.buffer).to.equal(first.buffer);
    expect(second.every((byte) => byte === 0)).to.equal(true);
    expect([...longZeros(3)]).to.deep.equal([0, 0, 0]);
  });
});
