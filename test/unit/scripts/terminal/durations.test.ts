// Covers: scripts/terminal/commandLine.ts, scripts/local/clusterView/request.ts, scripts/monitor/request.ts
import { expect } from 'chai';
import { parseClusterRequest } from '../../../../scripts/local/clusterView/request.js';
import { parseMonitorRequest } from '../../../../scripts/monitor/request.js';
import { durationMs, UsageError } from '../../../../scripts/terminal/commandLine.js';
import { readOptions as readSimulateOptions } from '../../../simulate/options.js';
import { readOptions as readSoakOptions } from '../../../soak/options.js';

const MONITORED = ['--log', 'http://127.0.0.1:1/log', '--policy', 'p'];

/** Command options that are durations, each with its reader and a value above 7 days. */
const OPTIONS: readonly (readonly [flag: string, read: (value: string) => unknown, tooLong: string])[] = [
  ['--every of npm run monitor', (value) => parseMonitorRequest([...MONITORED, '--every', value]), '604801'],
  ['--minutes of npm run soak', (value) => readSoakOptions(['--minutes', value]), '10081'],
  ['--hours of npm run simulate', (value) => readSimulateOptions(['--hours', value]), '1000001'],
  ['--minutes of npm run simulate', (value) => readSimulateOptions(['--minutes', value]), '10081'],
  ['--length of npm run simulate', (value) => readSimulateOptions(['--length', value]), '604801'],
  ['--calm of npm run simulate', (value) => readSimulateOptions(['--calm', value]), '604801'],
  ['--restart-after of npm run cluster', (value) => parseClusterRequest(['--restart-after', value]), '604801'],
];

describe('the durations among the options of commands', () => {
  for (const [flag, read, tooLong] of OPTIONS)
    it(`${flag} is a number above 0 and at most 7 days`, () => {
      read('1');
      expect(() => read('')).to.throw(UsageError, ' is empty: give a value, or leave it out');
      for (const value of [tooLong, '9147484', '99999999999', '1e400', 'Infinity', 'NaN', 'x'])
        expect(() => read(value), value).to.throw(UsageError, ` is ${value}; allowed`);
    });

  it('may have a fraction', () => {
    expect([durationMs('--minutes', '0.5', 'minutes'), durationMs('--every', '1.25', 'seconds')]).to.deep.equal([
      30_000, 1_250,
    ]);
  });
});
