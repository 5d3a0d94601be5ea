#!/usr/bin/env node
/** `vouch COMMAND`: the command of the package that `npm pack` makes. Runs a program beside this one. */
import { fileURLToPath } from 'node:url';
import { say } from './terminal/line.js';

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
  ].join('\n');

const [command = '--help', ...args] = process.argv.slice(2);
if (command === '--help' || command === '-h') process.stdout.write(`${usage()}\n`);
else if (Object.hasOwn(COMMANDS, command)) {
  const program = new URL(`./${command}.js`, import.meta.url);
  process.argv = [process.argv[0]!, fileURLToPath(program), ...args];
  await import(program.href);
} else {
  say('failed', 'vouch', `there is no command ${command}; vouch --help lists them`);
  process.exitCode = 2;
}
