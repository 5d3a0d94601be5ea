import { expect } from 'chai';
import { eventually } from '../../../../support/expectations.js';
import { isAlive, type Launched, launch } from '../../../../support/launch/process.js';

const module = (path: string): string => JSON.stringify(new URL(`../../../../../${path}`, import.meta.url).href);

/** Starts two children that do not end by themselves, and prints their process ids. */
const PARENT = `
  import { spawn } from 'node:child_process';
  import { guarded } from ${module('scripts/local/supervisor/guarded.js')};
  const child = (order) => {
    const program = "process.on('SIGTERM', () => { console.log('" + order + "'); process.exit(); }); setInterval(() => {}, 1000);"
      + "console.log('ready');";
    const stdio = ['ignore', 'pipe', 'inherit'];
    return guarded(spawn(process.execPath, ['-e', program], { stdio, detached: true }), order);
  };
  const children = [child('last'), child('first')];
  for (const { stdout } of children) await new Promise((resolve) => stdout.once('data', resolve));
  console.log('pids ' + children.map(({ pid }) => pid).join(' '));
  setInterval(() => {}, 1000);`;

describe('a guarded child', () => {
  const started = async (): Promise<{ parent: Launched; children: number[] }> => {
    const parent = launch(process.execPath, ['--input-type=module', '-e', PARENT]);
    const children = (await parent.waitForLine(/^pids /)).match(/\d+/g)!.map(Number);
    expect(children.every(isAlive)).to.equal(true);
    return { parent, children };
  };

  for (const signal of ['SIGKILL', 'SIGTERM', 'SIGINT', 'SIGHUP'] as const)
    it(`ends when its parent is ended by ${signal}`, async () => {
      const { parent, children } = await started();
      parent.signal(signal);
      await parent.waitForEnd();
      await eventually('both children are gone', () => !children.some(isAlive));
    });
});
