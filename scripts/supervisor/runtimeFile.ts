/** What a running `npm start` tells the other commands of this data folder: where it answers and which processes it has. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, deleteFile, PRIVATE_MODE, replaceFile } from '../../shared/durable.js';

export interface Runtime {
  readonly mode: 'cluster' | 'standalone';
  /** Process id of `npm start` itself. */
  readonly pid: number;
  /** Where the API is, once it answers. */
  readonly url: string | null;
  readonly natsUrl: string | null;
  /** Name → process id. */
  readonly processes: Readonly<Record<string, number>>;
}

/** Beside the data of `npm start`, whose one server is not the three of `npm run cluster`. */
export const clusterFolder = (dataDir: string): string => join(dataDir, 'cluster');

const pathIn = (dataDir: string): string => join(dataDir, 'runtime.json');

/** Readable by its owner alone, as the server's address may carry credentials. */
export const writeRuntime = (dataDir: string, runtime: Runtime): Promise<void> =>
  replaceFile(pathIn(dataDir), `${JSON.stringify(runtime, null, 2)}\n`, PRIVATE_MODE);

export const removeRuntime = (dataDir: string): Promise<boolean> => deleteFile(pathIn(dataDir));

/** What to say where nothing runs on a data folder; `remedy`: what to do then, unless `npm run cluster` runs in it. */
export async function nothingRunsOn(dataDir: string, remedy: string): Promise<Error> {
  const folder = clusterFolder(dataDir);
  const isThere = (await readRuntime(folder)) !== undefined;
  return new Error(
    `nothing runs on the data folder ${dataDir}; ` +
      (isThere ? `for what npm run cluster runs set VOUCH_DATA_DIR to ${folder}` : remedy),
  );
}

/** Undefined where nothing runs, as far as the file tells: after a kill it may name processes that are gone. */
export async function readRuntime(dataDir: string): Promise<Runtime | undefined> {
  try {
    return JSON.parse(await readFile(pathIn(dataDir), 'utf8')) as Runtime;
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || error instanceof SyntaxError) return undefined;
    throw error;
  }
}
