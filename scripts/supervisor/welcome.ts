/** What a person reads when the service is up: where it is, with which key, and a line to paste. */
import { access } from 'node:fs/promises';
import { relative } from 'node:path';
import { say } from '../terminal/line.js';
import { defaultKeyFile } from './firstKey.js';

export interface Welcome {
  readonly url: string;
  readonly dataDir: string;
  /** The key that was made at this start, if one was. */
  readonly newKey: string | undefined;
  /** What checkpoints of this data folder are signed with: 64 hex. */
  readonly signingKey: string;
}

export async function welcome({ url, dataDir, newKey, signingKey }: Welcome): Promise<void> {
  const keyFile = await shownKeyFile(dataDir);
  process.stderr.write('\n');
  say('plain', 'Vouch', url);
  if (newKey) say('plain', 'API key', `${newKey}  (shown this once)`);
  if (keyFile) {
    say('plain', 'key file', keyFile);
    say('plain', 'try', curlLine(url, keyFile).join(' '));
  } else {
    say('plain', 'API key', 'npm run keys -- create --project default --scope read_write');
  }
  say('plain', 'signs with', `${signingKey}  (public key of its checkpoints)`);
  say('plain', 'stop', 'Ctrl-C');
}

/** To the key of the first start, as one types it; undefined where there is none. */
export async function shownKeyFile(dataDir: string): Promise<string | undefined> {
  const path = defaultKeyFile(dataDir);
  return access(path).then(
    () => shownPath(path),
    () => undefined,
  );
}

/** A command that works when pasted, in two parts with a space between. */
export const curlLine = (url: string, keyFile: string): readonly [string, string] => [
  `curl -s ${url}/v1/namespaces`,
  `-H "Authorization: Bearer $(cat ${quoted(keyFile)})"`,
];

/** As seen from where the person is: npm changes into the project's folder and says where it came from. */
function shownPath(path: string): string {
  const fromHere = relative(process.env.INIT_CWD ?? process.cwd(), path);
  return fromHere.length < path.length && !fromHere.startsWith('..') ? fromHere : path;
}

const quoted = (path: string): string => (/^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);
