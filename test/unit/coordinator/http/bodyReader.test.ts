import { expect } from 'chai';
import { BodyReader, BodyWatch } from '../../../../coordinator/http/bodyReader.js';
import type { EngineResponse } from '../../../../coordinator/http/engine/engine.js';
import type { InFlight } from '../../../../coordinator/limits/inFlight.js';

describe('the small chunks of all bodies', () => {
  it('are accepted up to a limit in each turn of the event loop', async () => {
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

describe('a refused body longer than allowed', () => {
  it('is dropped while it arrives, for at most 30 checks, and then no longer read', async () => {
    let send = (_chunk: ArrayBuffer, _isLast: boolean): void => {};
    const calls: string[] = [];
    const res = {
      onData: (listener: typeof send) => {
        send = listener;
      },
      pause: () => calls.push('pause'),
      resume: () => calls.push('resume'),
    };
    const watch = Object.assign(new BodyWatch(), { add: () => {}, delete: () => {} });
    const shared = { bodyBytesMax: 1_000, inFlight: {} as InFlight, watch };
    const body = new BodyReader(res as unknown as EngineResponse, 5_000, shared);
    send(new ArrayBuffer(1), false);
    let isDropped = false;
    const dropped = body.drop()!.then(() => {
      isDropped = true;
    });
    for (let checks = 1; checks < 30; checks++) {
      send(new ArrayBuffer(1), false);
      body.check();
    }
    await Promise.resolve();
    expect([isDropped, body.isTooMuch]).to.deep.equal([false, false]);
    body.check();
    await dropped;
    expect([body.isTooMuch, body.isCut, calls]).to.deep.equal([true, false, ['pause', 'resume', 'pause']]);
  });
});
