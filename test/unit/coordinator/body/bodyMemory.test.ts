import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import { bodyMemory, clearedMemory, isShared, reuseMemory } from '../../../../coordinator/body/bodyMemory.js';

describe('the memory of bodies', () => {
  it('is shared with workers for large bodies, up to 64 MiB in all', () => {
    const bodies = Array.from({ length: 8 }, () => bodyMemory(16 << 20));
    expect(bodies.filter(isShared).length).to.be.within(1, 4);
    expect(isShared(bodies.at(-1)!)).to.equal(false);
  });

  it('is separate for bodies in use, and reused for bodies of about that size', () => {
    const sizes = [0, 1, 512, 513, 3_000, 4_096, 14_000, 65_536, 65_537];
    const bodies = sizes.flatMap((size) => [bodyMemory(size), bodyMemory(size)]);
    expect(bodies.map(({ length }) => length)).to.deep.equal(sizes.flatMap((size) => [size, size]));
    expect(new Set(bodies.map(({ buffer }) => buffer)).size).to.equal(bodies.length);
    const body = bodyMemory(14_000);
    const { buffer } = body;
    expect(buffer.byteLength).to.equal(16_384);
    reuseMemory(body);
    expect(bodyMemory(9_000).buffer).to.equal(buffer);
    expect(bodyMemory(9_000).buffer).not.to.equal(buffer);
  });

  it('is not reused if a worker took it over', () => {
    for (const body of [bodyMemory(5_000), bodyMemory(100_000)]) {
      const sizeBytes = body.length;
      structuredClone(body.buffer, { transfer: [body.buffer as ArrayBuffer] });
      reuseMemory(body);
      expect(bodyMemory(sizeBytes).buffer.byteLength).to.be.at.least(sizeBytes);
    }
  });

  it('is the smallest free buffer that suffices for a large body', () => {
    const buffers = [300_000, 200_000, 400_000].map((size) => bodyMemory(size));
    for (const body of buffers) reuseMemory(body);
    expect(bodyMemory(250_000).buffer).to.equal(buffers[0]!.buffer);
    expect(bodyMemory(250_000).buffer).to.equal(buffers[2]!.buffer);
    expect(bodyMemory(250_000).buffer.byteLength).to.equal(250_000);
  });

  it('keeps at most 64 MiB free for large bodies', () => {
    const bodies = Array.from({ length: 3 }, () => bodyMemory(30 << 20));
    for (const body of bodies) reuseMemory(body);
    const [, second, third] = bodies.map(({ buffer }) => buffer);
    expect([bodyMemory(30 << 20).buffer, bodyMemory(30 << 20).buffer]).to.have.members([second, third]);
    expect(bodies.map(({ buffer }) => buffer)).to.not.include(bodyMemory(30 << 20).buffer);
  });

  it('is cleared over many turns of the event loop if it is new, and free memory at once', async () => {
    let turns = 0;
    let isDone = false;
    const counting = (async () => {
      for (; !isDone; turns++) await turn();
    })();
    const memory = await clearedMemory(8_000_001);
    isDone = true;
    await counting;
    expect(turns).to.be.at.least(16);
    expect(memory.every((byte) => byte === 0)).to.equal(true);
    reuseMemory(memory);
    expect((await clearedMemory(8_000_001)).buffer).to.equal(memory.buffer);
  });
});
