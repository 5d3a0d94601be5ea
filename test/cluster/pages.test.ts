/** Runs every command of the README, and checks that a page's commands are run or say why not. */
import { expect } from 'chai';
import { launch } from '../support/launch/process.js';
import { README, readPages, shellBlocks } from '../support/pages.js';
import { ROOT } from '../support/sourceTree.js';
import { describeCommands, READING_ORDER, stepsOf } from '../support/suites/pageCommands.js';

describeCommands('the README', [README]);

describe('commands of pages', () => {
  it('are all run, or give a reason why not', () => {
    const running = readPages().filter(({ path }) => stepsOf([path]).length > 0);
    expect(running.map(({ path }) => path)).to.have.members([README, ...READING_ORDER]);
  });

  it('without a run are valid shell', async () => {
    for (const page of readPages())
      for (const { commands, notRun } of shellBlocks(page)) {
        if (notRun === undefined) continue;
        const shell = launch('bash', ['-n', '-c', commands], { cwd: ROOT, env: {} });
        await shell.waitForEnd();
        expect(shell.output, `${page.path}\n${commands}`).to.equal('');
      }
  });
});
