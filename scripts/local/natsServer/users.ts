/**
 * The users of NATS servers: one for each role. A user's seed is in a file that only the owner of the folder may read. The servers'
 * configuration has its public key, and the permissions of the role from `config/nats.roles.conf`.
 */
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Config } from '../../../config/config.js';
import { createFile, isThere, makeDirectory, replaceFile } from '../../../shared/files/durable.js';
import { nkeys } from '../../../shared/nats/nkeys.js';
import { NATS_ROLES, type NatsRole } from '../../../shared/nats/roles.js';
import { commandText } from '../../../shared/process/commandText.js';

export interface NatsUsers {
  /** The public key of each role's user. */
  readonly publicKeys: Readonly<Record<NatsRole, string>>;
  /** The password between the servers of a cluster. */
  readonly routePassword: string;
}

const ROUTE_USER = 'vouch';
// Four folders up: this runs as dist/scripts/local/natsServer/users.js.
const ROLES_FILE = new URL('../../../../config/nats.roles.conf', import.meta.url);

/** The folder with the users of a data folder's servers. */
export const usersFolder = (dataDir: string): string => join(dataDir, 'nats', 'users');

/** The file of a user's seed, in a folder of its own, so that a container can mount just that. */
const fileIn = (folder: string, name: NatsRole | 'route'): string => join(folder, name, 'seed.nk');

/** The file with the seed of a role's user. */
export const seedFile = (dataDir: string, role: NatsRole): string => fileIn(usersFolder(dataDir), role);

/** Reads the users in the folder, and makes missing ones. Throws an Error of one line if a seed is damaged. */
export async function natsUsers(folder: string): Promise<NatsUsers> {
  const publicKeys: Partial<Record<NatsRole, string>> = {};
  for (const role of NATS_ROLES) publicKeys[role] = nkeys.fromSeed(await seedIn(fileIn(folder, role))).getPublicKey();
  const routePassword = Buffer.from(await seedIn(fileIn(folder, 'route'))).toString();
  return { publicKeys: publicKeys as NatsUsers['publicKeys'], routePassword };
}

async function seedIn(file: string): Promise<Uint8Array> {
  await makeDirectory(dirname(file));
  await createFile(file, nkeys.createUser().getSeed());
  const seed = await readFile(file);
  try {
    nkeys.fromSeed(seed);
    return seed;
  } catch {
    throw new Error(`${file} holds no seed of a NATS user; put it back from a copy, or remove it and start again`);
  }
}

/** The lines of a server's configuration that give each user its role's permissions, and refuse all other clients. */
export const usersBlock = ({ publicKeys }: NatsUsers): string[] => [
  ...NATS_ROLES.map((role) => `${role.toUpperCase()}_KEY: ${publicKeys[role]}`),
  readFileSync(ROLES_FILE, 'utf8'),
];

/** The lines within `cluster` by which servers log in to each other. `routes`: `host:port` of their cluster ports. */
export const routesBlock = ({ routePassword }: NatsUsers, routes: readonly string[]): string[] => [
  `authorization { user: ${ROUTE_USER}, password: "${routePassword}" }`,
  `routes: [${routes.map((route) => `"nats://${ROUTE_USER}:${routePassword}@${route}"`).join(', ')}]`,
];

/** Writes `users.conf` and `routes.conf` into the folder of the users, which configurations of other servers include. */
export async function writeUsersConfig(folder: string, routes: readonly string[]): Promise<void> {
  const users = await natsUsers(folder);
  const write = (name: string, lines: readonly string[]): Promise<void> =>
    replaceFile(join(folder, name), `${[`# Written by ${commandText('keys', 'nats')}.`, ...lines].join('\n')}\n`);
  await write('users.conf', usersBlock(users));
  await write('routes.conf', routesBlock(users, routes));
}

/** Address and login of a process at the NATS servers. */
export type NatsAccess = Config['nats'] & { readonly role: NatsRole };

/** The access of a command on this machine: by its own settings, or with the data folder's user of that role. */
export async function localNats({ nats, dataDir }: Config, url: string | null, role: NatsRole): Promise<NatsAccess> {
  const file = seedFile(dataDir, role);
  const isLocal = nats.url === null && nats.creds === '' && nats.nkey === '' && (await isThere(file));
  return { ...nats, url, nkey: isLocal ? file : nats.nkey, role };
}
