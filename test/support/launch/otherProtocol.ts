/** Starts a process with another version of the protocol between processes: its constant is changed while it loads. */
import { type LoadHook, register } from 'node:module';
import { isMainThread } from 'node:worker_threads';

const VERSION_VARIABLE = 'VOUCH_TEST_PROTOCOL';
const version = process.env[VERSION_VARIABLE];

/** Environment of such a process. */
export const speaking = (protocol: number): Readonly<Record<string, string>> => ({
  NODE_OPTIONS: `--import ${import.meta.url}`,
  [VERSION_VARIABLE]: String(protocol),
});

/** Called by Node for each module of the process. */
export const load: LoadHook = async (url, context, nextLoad) => {
  const loaded = await nextLoad(url, context);
  if (loaded.format !== 'module' || loaded.source === undefined) return loaded;
  const source = Buffer.from(loaded.source as Uint8Array).toString();
  return { ...loaded, source: source.replace(/\bPROTOCOL_VERSION = \d+/, `PROTOCOL_VERSION = ${version}`) };
};

if (version !== undefined && isMainThread) register(import.meta.url);
