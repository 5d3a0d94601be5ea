/** The systemd units: the rights of a process by systemd's own measure, and how processes are ended. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { loadConfig } from '../../config/load.js';
import { findTool, runTool } from '../support/launch/foreignTool.js';
import { skip } from '../support/skip.js';
import { ROOT } from '../support/sourceTree.js';

const FOLDER = join(ROOT, 'deploy/systemd');
/** 0 is a service without rights, 10 one with all rights. */
const EXPOSURE_MAX = 2;
const EXPOSURE = /Overall exposure level for \S+: (\d+\.\d+)/;
const SHARD = 'vouch-shard@.service';

const units = readdirSync(FOLDER);
const read = (unit: string): string => readFileSync(join(FOLDER, unit), 'utf8');
const settingOf = (unit: string, name: string): string | undefined =>
  new RegExp(`^${name}=(.*)$`, 'm').exec(read(unit))?.[1];

describe('the units of systemd', () => {
  it('start each kind of process', () => {
    const commands = units.map((unit) => [unit, settingOf(unit, 'ExecStart')]);
    expect(Object.fromEntries(commands)).to.deep.equal({
      'vouch.service': 'node --single-threaded-gc dist/scripts/standalone.js',
      'vouch-coordinator.service': 'node --single-threaded-gc dist/coordinator/main.js --name %l',
      'vouch-shard@.service': 'node --single-threaded-gc dist/shard/main.js --name %i',
      'vouch-nats.service': 'nats-server -c /etc/vouch/nats.conf',
    });
  });

  it('leave a process few rights besides its work', async function () {
    const analyze = findTool('systemd-analyze');
    if (analyze === undefined || !(await runTool(analyze, ['--help'])).output.includes('--offline'))
      skip(this, 'systemd-analyze, which can measure a file, is not installed');
    for (const unit of units) {
      const { output } = await runTool(analyze, ['security', '--offline=true', join(FOLDER, unit)]);
      expect(Number(EXPOSURE.exec(output)?.[1]), output).to.be.below(EXPOSURE_MAX);
    }
  });

  it('contain no secret, and give the seed of NATS only to the process', () => {
    for (const [unit, seed] of [
      ['vouch-coordinator.service', 'coordinator.nk'],
      [SHARD, 'shard.nk'],
    ] as const) {
      expect(settingOf(unit, 'LoadCredential')).to.equal(`${seed}:/etc/vouch/users/${seed}`);
      expect(settingOf(unit, 'Environment')).to.include(`VOUCH_NATS_NKEY=%d/${seed}`);
    }
    expect(units.filter((unit) => /\bS[UA][A-Z2-7]{30,}|vk_\w+|password/i.test(read(unit)))).to.deep.equal([]);
  });

  it('give a shard enough time to hand its collections over', () => {
    const { drainTimeoutMs } = loadConfig({}).placement;
    expect(Number(settingOf(SHARD, 'TimeoutStopSec'))).to.equal(drainTimeoutMs / 1000 + 30);
  });
});
