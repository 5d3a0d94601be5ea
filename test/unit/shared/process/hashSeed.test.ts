import { expect } from 'chai';
import { hashSeedWarning } from '../../../../shared/process/hashSeed.js';

describe('the warning about predictable hashes', () => {
  it('names the version and the first release of its line with a seed', () => {
    for (const [version, wanted] of [
      ['20.20.1', '20.20.2'],
      ['20.9.0', '20.20.2'],
      ['22.22.1', '22.22.2'],
      ['24.14.0', '24.14.1'],
      ['25.8.1', '25.8.2'],
    ] as const)
      expect(hashSeedWarning(version)).to.equal(
        `Node ${version} hashes strings of digits without a secret seed, so any request can be made slow; install Node ${wanted} or later`,
      );
    for (const version of ['18.20.8', '21.7.3', '23.11.1'])
      expect(hashSeedWarning(version)).to.match(/install Node 20\.20\.2, 22\.22\.2, 24\.14\.1, 25\.8\.2 or later$/);
  });

  it('is not given for a version with a seed', () => {
    for (const version of [
      '20.20.2',
      '20.21.0',
      '22.22.2',
      '22.23.0',
      '24.14.1',
      '24.15.0',
      '25.8.2',
      '26.0.0',
      '30.1.0',
    ])
      expect(hashSeedWarning(version)).to.equal(undefined);
  });
});
