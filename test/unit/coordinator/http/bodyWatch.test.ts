import { expect } from 'chai';
import { BodyWatch } from '../../../../coordinator/http/bodyReader.js';

describe('the small chunks of all bodies', () => {
  it('are admitted up to a bound in each turn of the event loop', async () => {
    const watch = new BodyWatch();
    const admitted = (): number => {
      let chunks = 0;
      while (watch.admitsSmallChunk()) chunks++;
      return chunks;
    };
    expect(admitted()).to.equal(65_536);
    expect(watch.admitsSmallChunk()).to.equal(false);
    await new Promise((resolve) => setImmediate(resolve));
    expect(admitted()).to.equal(65_536);
  });
});
