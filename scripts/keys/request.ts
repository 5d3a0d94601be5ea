/** Reads the command line of the key tool. */
import { unreachable } from '../../shared/errors/errors.js';
import { areKeyCollections, KEY_COLLECTIONS_MAX, type KeyCollections } from '../../shared/registry/keyCollections.js';
import { isProjectName, KEY_LABEL_MAX, KEY_VALID_SECS_MAX, SCOPES, type Scope } from '../../shared/registry/keys.js';
import { commandText, parseFlags, UsageError } from '../terminal/commandLine.js';
import { unknownWord } from '../terminal/unknownWord.js';

export type KeyRequest =
  | {
      readonly command: 'create';
      readonly project: string;
      readonly scope: Scope;
      readonly label: string | null;
      readonly collections: KeyCollections;
      readonly validMs: number | null;
    }
  | { readonly command: 'list'; readonly project: string | undefined }
  | { readonly command: 'revoke'; readonly id: string }
  | { readonly command: 'release'; readonly collectionId: number }
  /** `routes`: `host:port` of the cluster ports of the servers. */
  | { readonly command: 'nats'; readonly folder: string; readonly routes: readonly string[] }
  | { readonly command: 'streams' }
  | { readonly command: 'master'; readonly file: string }
  | { readonly command: 'log' }
  | { readonly command: 'rotate-master'; readonly prepareOnly: boolean; readonly forgetDamaged: boolean };

type Command = KeyRequest['command'];
const COMMANDS: readonly Command[] = [
  ...(['create', 'list', 'revoke', 'release', 'rotate-master', 'nats', 'streams', 'master', 'log'] as const),
];

const USES = [
  `create --project <name> --scope ${SCOPES.join('|')} [--label <text>] [--expires 30d] [--collections <name,prefix*,…>]`,
  'list [--project <name>]',
  'revoke <id>',
  'release <collection id>',
  'rotate-master [--prepare] [--forget-damaged]',
  'nats --out <folder> [--routes <host:port,…>]',
  'streams',
  'master --out <file>',
  'log',
];

const USES_EXPLAINED = `  create         makes an API key, and prints it once; a project exists from its first key on
  list           shows the API keys; revoke ends one of them
  release        lets a quarantined collection be opened again
  rotate-master  wraps all keys of encrypted records by a new master key, and erases the old one; --prepare only makes the new
                 one, --forget-damaged also finishes if entries of the vault do not verify
  nats           makes the users of NATS servers on several machines; streams makes the streams there
  master         makes a master key that shards on several machines share
  log            prints the public key of the service log; makes the key if there is none`;

export const KEY_USAGE = `${USES.map((args) => commandText('keys', args)).join('\n')}

${USES_EXPLAINED}`;

const UNIT_MS = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;

const COLLECTION_ID = /^[1-9]\d{0,14}$/;

const ROUTE = /^[\w.:[\]-]+:\d{1,5}$/;

const OPTIONS = {
  project: { type: 'string' },
  scope: { type: 'string' },
  label: { type: 'string' },
  expires: { type: 'string' },
  collections: { type: 'string' },
  out: { type: 'string' },
  routes: { type: 'string' },
  prepare: { type: 'boolean' },
  'forget-damaged': { type: 'boolean' },
} as const;

/** Throws UsageError. */
export function parseKeyRequest(args: readonly string[]): KeyRequest {
  const { values, positionals } = parseFlags({ args: [...args], allowPositionals: true, options: OPTIONS });
  const [command, ...rest] = positionals;
  if (command === undefined) throw new UsageError(`the command is missing: there are ${COMMANDS.join(', ')}`);
  if (!isCommand(command)) throw new UsageError(unknownWord('command', command, COMMANDS));
  if (command !== 'revoke' && command !== 'release' && rest.length > 0)
    throw new UsageError(`${command} takes no argument ${rest.join(' ')}`);
  switch (command) {
    case 'create': {
      const { project, scope, label = null, expires } = values;
      const collections = values.collections?.split(',') ?? null;
      if (project === undefined || !isProjectName(project))
        throw new UsageError(`--project is ${shown(project)}; allowed are 1 to 64 letters, digits, _ or -`);
      if (!isScope(scope)) throw new UsageError(`--scope is ${shown(scope)}; allowed is ${SCOPES.join(', ')}`);
      if ((label?.length ?? 0) > KEY_LABEL_MAX)
        throw new UsageError(`--label has ${label?.length} characters; allowed are ${KEY_LABEL_MAX}`);
      if (collections !== null && !areKeyCollections(collections))
        throw new UsageError(
          `--collections is ${shown(values.collections)}; allowed are 1 to ${KEY_COLLECTIONS_MAX} names, or prefixes that end with *`,
        );
      const validMs = expires === undefined ? null : durationMs(expires);
      return { command, project, scope, label, collections, validMs };
    }
    case 'list':
      return { command, project: values.project };
    case 'revoke':
      if (rest.length !== 1) throw new UsageError('revoke takes one id, as list shows it');
      return { command, id: rest[0]! };
    case 'release': {
      const [id = ''] = rest;
      if (rest.length !== 1 || !COLLECTION_ID.test(id))
        throw new UsageError('release takes the id of one collection, as /health shows it');
      return { command, collectionId: Number(id) };
    }
    case 'nats': {
      const { out: folder, routes: listed = '' } = values;
      if (folder === undefined) throw new UsageError('nats takes --out, the folder of the users');
      const routes = listed === '' ? [] : listed.split(',');
      const wrong = routes.find((route) => !ROUTE.test(route));
      if (wrong !== undefined)
        throw new UsageError(`--routes holds ${wrong}; allowed is host:port, several separated by commas`);
      return { command, folder, routes };
    }
    case 'streams':
    case 'log':
      return { command };
    case 'master': {
      if (values.out === undefined) throw new UsageError('master takes --out, the file of the new key');
      return { command, file: values.out };
    }
    case 'rotate-master': {
      const { prepare: prepareOnly = false, 'forget-damaged': forgetDamaged = false } = values;
      return { command, prepareOnly, forgetDamaged };
    }
    default:
      return unreachable(command);
  }
}

const isCommand = (text: string): text is Command => COMMANDS.some((command) => command === text);

const isScope = (text: string | undefined): text is Scope => SCOPES.some((scope) => scope === text);

function durationMs(text: string): number {
  const match = /^([1-9]\d{0,5})([mhdw])$/.exec(text);
  if (!match) throw new UsageError(`--expires is ${text}; allowed is a number with m, h, d or w, such as 30d`);
  const validMs = Number(match[1]) * UNIT_MS[match[2] as keyof typeof UNIT_MS];
  if (validMs > 1_000 * KEY_VALID_SECS_MAX)
    throw new UsageError(`--expires is ${text}; allowed are at most ${Math.floor(KEY_VALID_SECS_MAX / 86_400)}d`);
  return validMs;
}

const shown = (text: string | undefined): string => text ?? 'missing';
