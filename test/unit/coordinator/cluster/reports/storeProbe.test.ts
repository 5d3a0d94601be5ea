import { expect } from 'chai';
import { storeProbe } from '../../../../../coordinator/cluster/reports/storeProbe.js';

describe('the probe of the store', () => {
  const SILENT = 'the store of the cluster state does not answer';

  it('reports nothing if the store answers', async () => {
    const probe = storeProbe(async () => ({ get: async () => undefined }));
    expect(await probe()).to.equal(undefined);
  });

  it('reports a failing store, and probes again the next time', async () => {
    let fails = true;
    const probe = storeProbe(async () => {
      if (fails) throw new Error('no quorum');
      return { get: async () => undefined };
    });
    expect(await probe()).to.equal(SILENT);
    fails = false;
    expect(await probe()).to.equal(undefined);
  });

  it('sends one request for any number of callers, and answers in time if a server is frozen', async () => {
    let asked = 0;
    let thaw = (): void => {};
    const probe = storeProbe(async () => ({
      get: () => {
        asked++;
        return new Promise((resolve) => {
          thaw = () => resolve(undefined);
        });
      },
    }));
    const answers = await Promise.all(Array.from({ length: 50 }, () => probe()));
    expect(new Set(answers)).to.deep.equal(new Set([SILENT]));
    expect(asked).to.equal(1);
    const waiting = probe();
    thaw();
    expect(await waiting).to.equal(undefined);
    expect(asked).to.equal(1);
  });
});
