// Covers: scripts/terminal/table.ts, scripts/terminal/line.ts, scripts/terminal/step.ts, scripts/terminal/signals.ts
/** The terminal output of a command while a step runs. */
import { expect } from 'chai';
import { tableLines } from '../../../../scripts/terminal/table.js';
import { launch } from '../../../support/launch/process.js';

const module = (name: string): string => new URL(`../../../../scripts/terminal/${name}.js`, import.meta.url).href;
const CLEARED = '\r\x1b[2K';

/** Output of a program that has a terminal, or behaves as if it had one. */
async function written(program: string): Promise<string> {
  const lines = [
    `import { say } from '${module('line')}';`,
    `import { step } from '${module('step')}';`,
    `import { onSignals } from '${module('signals')}';`,
    'process.stderr.isTTY = true;',
    program,
  ];
  const launched = launch(process.execPath, ['--input-type=module', '-e', lines.join('\n')]);
  await launched.waitForEnd();
  return launched.output;
}

describe('the terminal', () => {
  it('shows control characters of a client as escapes', () => {
    const [, line] = tableLines([{ title: 'label' }, { title: 'id' }], [['a\x1b[2Jb\u202e\n', 'k']]);
    expect(line).to.equal('a\\u{1b}[2Jb\\u{202e}\\u{a}  k');
  });

  it('shows a message beside a spinner on a line of its own', async () => {
    const output = await written(`
      const write = process.stderr.write.bind(process.stderr);
      const drawn = new Promise((seen) => {
        process.stderr.write = (text) => write(text) && text.includes('starting …') && seen();
      });
      await step('shards', 'starting', async () => {
        await drawn;
        say('warning', 'shard s1', 'has a slow disk');
        return { value: 1, text: 'ready' };
      });
      say('plain', 'stop', 'Ctrl-C');`);
    const [drawn, ready, stop] = output.split('\n');
    expect(drawn).to.match(/ shards +starting … 0\.\d s/);
    expect(drawn!.endsWith(`${CLEARED}! shard s1      has a slow disk`), JSON.stringify(output)).to.equal(true);
    expect(ready!.startsWith(`${CLEARED}✔ shards        ready (`), JSON.stringify(output)).to.equal(true);
    expect(stop, 'no spinner any more').to.equal('  stop          Ctrl-C');
  });

  it('calls an interrupted step stopped, not failed', async () => {
    const output = await written(`
      onSignals(() => say('plain', 'stop', 'stopping'), () => {});
      const interrupted = new Promise((_, reject) => process.once('SIGINT', () => reject(new Error('interrupted'))));
      const steps = [step('shards', 'starting', () => interrupted)];
      process.kill(process.pid, 'SIGINT');
      await Promise.allSettled(steps);
      await step('nats', 'starting', async () => ({ value: 1, text: 'ready' }));`);
    expect(output).to.match(/ shards +stopped \(0\.\d s\)/);
    expect(output).not.to.match(/failed/);
  });
});
