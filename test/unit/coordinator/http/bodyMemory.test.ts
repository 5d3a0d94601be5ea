import { expect } from 'chai';
import { bodyMemory, reuseMemory } from '../../../../coordinator/http/bodyMemory.js';

describe('the memory of bodies', () => {
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

  it('is not reused if a worker took it over, or if it is large', () => {
    for (const body of [bodyMemory(5_000), bodyMemory(100_000)]) {
      const { buffer } = body;
      if (buffer.byteLength < 100_000) structuredClone(buffer, { transfer: [buffer] });
      reuseMemory(body);
      expect(bodyMemory(buffer.byteLength || 5_000).buffer).not.to.equal(buffer);
    }
  });
});
