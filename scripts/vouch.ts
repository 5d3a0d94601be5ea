#!/usr/bin/env node
/** `vouch COMMAND`: the command of the package that `npm pack` makes. Runs a program beside this one. */
import { fileURLToPath } from 'node:url';
import { PACKAGE_VARIABLE } from '../shared/process/commandText.js';
import { version } from '../shared/version.js';
import { say } from './terminal/line.js';
import { unknownWord } from './terminal/unknownWord.js';

const COMMANDS: Readonly<Record<string, string>> = {
  start: 'a cluster on this machine, with a nats-server',
  standalone: 'the service in one process',
  keys: 'makes, lists and revokes API keys',
  verify: 'checks receipts, checkpoints and logs offline',
  witness: 'cosigns the checkpoints of service logs',
  monitor: 'follows a service log',
  export: 'writes a collection to a file, or to a store of LangChain.js',
  import: 'makes a collection from an exported file',
  load: 'loads files, tables of other services and stores of LangChain.js',
  mcp: 'an MCP server for the collections of a project',
  demo: 'a guided tour',
};

const usage = (): string =>
  [
    'vouch COMMAND [ARGUMENTS]',
    '',
    ...Object.entries(COMMANDS).map(([name, does]) => `  ${name.padEnd(12)}${does}`),
    '',
    `Each command answers --help; vouch --version is the version. Where the package is not installed, vouch is npx with its file: npx --yes ./vouch-${version}.tgz COMMAND.`,
  ].join('\n');

const [command = '--help', ...args] = process.argv.slice(2);
process.env[PACKAGE_VARIABLE] = '1';
if (command === '--help' || command === '-h') process.stdout.write(`${usage()}\n`);
else if (command === '--version') process.stdout.write(`${version}\n`);
else if (Object.hasOwn(COMMANDS, command)) {
  const program = new URL(`./${command}.js`, import.meta.url);
  process.argv = [process.argv[0]!, fileURLToPath(program), ...args];
  await import(program.href);
} else {
  say('failed', 'vouch', unknownWord('command', command, Object.keys(COMMANDS)));
  process.exitCode = 2;
}
