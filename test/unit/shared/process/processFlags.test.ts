/** Arguments of commands, as `parseFlags` reads them. */
import { expect } from 'chai';
import { parseFlags, UsageError } from '../../../../shared/process/processFlags.js';

const options = {
  name: { type: 'string', short: 'n' },
  all: { type: 'string', multiple: true },
  once: { type: 'boolean' },
} as const;
const valuesOf = (...args: string[]): object => ({ ...parseFlags({ args, options }).values });

describe('the options of a command', () => {
  it('are read with one value each, and with several where the option takes several', () => {
    expect(valuesOf('--name', 'a', '--all=b', '--all', 'c', '--once', '--once')).to.deep.equal({
      ...{ name: 'a', all: ['b', 'c'], once: true },
    });
  });

  it('are refused if they are empty, unknown, or given twice for one value', () => {
    for (const [args, message] of [
      [['--name', ''], '--name is empty: give a value, or leave it out'],
      [['--all', 'a', '--all='], '--all is empty: give a value, or leave it out'],
      [['--name', 'a', '--name', 'b'], '--name is given twice, and takes one value'],
      [['--name', 'a', '-n', 'b'], '-n is given twice, and takes one value'],
      [['--nam', 'a'], "Unknown option '--nam'"],
    ] as const)
      expect(() => valuesOf(...args)).to.throw(UsageError, message);
  });
});
