/** The file with the address and the processes of a running `npm start`, for other commands on the data folder. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { deleteFile, ifThere, replaceFile } from '../../../shared/files/durable.js';
import { commandText } from '../../../shared/process/commandText.js';

interface Runtime {
  readonly mode: 'cluster' | 'standalone';
  /** The process id of `npm start` itself. */
  readonly pid: number;
  /** The address of the API, once it answers. */
  readonly url: string | null;
  readonly natsUrl: string | null;
  /** Process ids by name. */
  readonly processes: Readonly<Record<string, number>>;
}

/** The data folder of `npm run cluster`, separate from that of `npm start`, which has another number of NATS servers. */
export const clusterFolder = (dataDir: string): string => join(dataDir, 'cluster');

const pathIn = (dataDir: string): string => join(dataDir, 'runtime.json');

/** Writes the file, readable only by its owner: the address of NATS may contain credentials. */
export const writeRuntime = (dataDir: string, runtime: Runtime): Promise<void> =>
  replaceFile(pathIn(dataDir), `${JSON.stringify(runtime, null, 2)}\n`);

/** Undefined if no service runs. After a kill the file may name ended processes. */
export async function readRuntime(dataDir: string): Promise<Runtime | undefined> {
  const text = await ifThere(readFile(pathIn(dataDir), 'utf8'));
  try {
    return text === undefined ? undefined : (JSON.parse(text) as Runtime);
  } catch {
    return undefined;
  }
}

export const removeRuntime = (dataDir: string): Promise<boolean> => deleteFile(pathIn(dataDir));

/** The error for a data folder without a running service. `remedy`: advice, unless `npm run cluster` runs in it. */
export async function nothingRunsOn(dataDir: string, remedy: string): Promise<Error> {
  const folder = clusterFolder(dataDir);
  const runsCluster = (await readRuntime(folder)) !== undefined;
  return new Error(
    `nothing runs on the data folder ${dataDir}; ` +
      (runsCluster ? `for what ${commandText('cluster')} runs set VOUCH_DATA_DIR to ${folder}` : remedy),
  );
}
