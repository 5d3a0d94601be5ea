/** Runs export, import and load as separate processes, like an operator. */
import { fileURLToPath } from 'node:url';
import type { Client } from './client.js';
import { type Launched, type LaunchOptions, launchNode } from './process.js';

const script = (name: string): string => fileURLToPath(new URL(`../../../scripts/${name}.js`, import.meta.url));

/** Address of a service, and a client's key. */
export interface At {
  readonly url: string;
  readonly rw: Client;
}

const launched = (name: string, { url, rw }: At, args: readonly string[], options: LaunchOptions = {}): Launched =>
  launchNode(script(name), [...args, '--url', url], { ...options, env: { VOUCH_KEY: rw.key, INIT_CWD: undefined } });

export const runExport = (at: At, collection: string, file: string): Launched =>
  launched('export', at, ['--collection', collection, '--out', file]);

export const runAccessExport = (url: string, admin: Client, collection: string, file: string): Launched =>
  launched('export', { url, rw: admin }, ['--collection', collection, '--access', '--out', file]);

/** Exports into a store of LangChain.js. */
export const runStoreExport = (at: At, collection: string, folder: string): Launched =>
  launched('export', at, ['--collection', collection, '--to', 'hnswlib', folder]);

export const runImport = (at: At, file: string, name?: string): Launched =>
  launched('import', at, ['--file', file, ...(name === undefined ? [] : ['--collection', name])]);

/** Loads its standard input, which the options give. */
export const runLoadOf = (
  at: At,
  collection: string,
  args: readonly string[],
  options: LaunchOptions & Required<Pick<LaunchOptions, 'input'>>,
): Launched => launched('load', at, ['-', '--collection', collection, ...args], options);

export const runLoad = (at: At, file: string, collection: string, args: readonly string[] = []): Launched =>
  launched('load', at, [file, '--collection', collection, ...args]);

/** Waits for its end. Throws an Error with its output if it failed. */
export async function succeeded(command: Launched): Promise<string> {
  const { code } = await command.waitForEnd(120_000);
  if (code !== 0) throw new Error(`${command.name} ended with ${code}:\n${command.output}`);
  return command.output;
}
