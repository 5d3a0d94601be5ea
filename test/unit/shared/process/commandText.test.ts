import { expect } from 'chai';
import { commandText, PACKAGE_VARIABLE } from '../../../../shared/process/commandText.js';

describe('the words of a command', () => {
  let before: string | undefined;
  beforeEach(() => {
    before = process.env[PACKAGE_VARIABLE];
  });
  afterEach(() => {
    if (before === undefined) delete process.env[PACKAGE_VARIABLE];
    else process.env[PACKAGE_VARIABLE] = before;
  });

  it('are those of npm in a checkout', () => {
    delete process.env[PACKAGE_VARIABLE];
    expect(commandText('start')).to.equal('npm start');
    expect(commandText('keys', 'list')).to.equal('npm run keys -- list');
    expect(commandText('mcp', '[--write]', '--silent')).to.equal('npm run mcp --silent -- [--write]');
  });

  it('are those of the program where the package runs', () => {
    process.env[PACKAGE_VARIABLE] = '1';
    expect(commandText('start')).to.equal('vouch start');
    expect(commandText('keys', 'list')).to.equal('vouch keys list');
    expect(commandText('mcp', '[--write]', '--silent')).to.equal('vouch mcp [--write]');
  });
});
