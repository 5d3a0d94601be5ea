import { resolve } from 'node:path';
import type { Config } from '../../config/config.js';
import { logVerifierKey } from '../../coordinator/serviceLog/serviceLog.js';
import { createMasterKeyFile, MASTER_KEY_BYTES, masterKeyOf } from '../../shard/vault/masterKeyFile.js';
import { systemClock, systemEntropy } from '../../shared/clock.js';
import { unreachable } from '../../shared/errors/errors.js';
import { isThere } from '../../shared/files/durable.js';
import { createKey, isExpired, type KeyRecord, listKeys, revokeKey } from '../../shared/registry/keys.js';
import { failuresKey } from '../../shared/registry/openings.js';
import { openSigner } from '../../shared/signing/signer.js';
import type { VaultStore } from '../../shared/vault/vaultStore.js';
import { writeUsersConfig } from '../local/natsServer/users.js';
import { callersFolder, commandText } from '../terminal/commandLine.js';
import { grouped, say } from '../terminal/line.js';
import { type Progress, showProgress } from '../terminal/progress.js';
import { tableLines } from '../terminal/table.js';
import type { KeyRequest } from './request.js';
import { rotateMaster } from './rotateMaster.js';
import type { KeyStore } from './store.js';

type RequestFor<C extends KeyRequest['command']> = Extract<KeyRequest, { readonly command: C }>;

/** Makes users for NATS servers and processes of several machines. */
export async function makeNatsUsers({ folder: given, routes }: RequestFor<'nats'>): Promise<void> {
  const folder = resolve(callersFolder(), given);
  await writeUsersConfig(folder, routes);
  say('done', 'users', `coordinator, shard, operator and admin, with the configuration of the servers, in ${folder}`);
  say(
    'plain',
    'next',
    'include users.conf in every server, routes.conf in its block cluster; see docs/operations/security.md#nats',
  );
}

/** Makes the master key that shards on several machines share. */
export async function makeMasterKey({ file: given }: RequestFor<'master'>): Promise<void> {
  const file = resolve(callersFolder(), given);
  const key = masterKeyOf(systemEntropy(MASTER_KEY_BYTES));
  if (!(await createMasterKeyFile(file, key)))
    throw new Error(`${file} exists already; a master key is never replaced`);
  say('done', 'master key', `${key.id} in ${file}; give every machine with shards a copy, and keep one apart`);
}

/** Makes a missing key of the service log, and prints its verifier key for policies. */
export async function makeLogKey({ serviceLog }: Config): Promise<void> {
  const isFound = await isThere(serviceLog.keyFile);
  const { publicKey } = await openSigner(serviceLog.keyFile);
  const done = isFound ? 'found' : 'made';
  say('done', 'log key', `${done} in ${serviceLog.keyFile}; give every coordinator the same file`);
  process.stdout.write(`${logVerifierKey(serviceLog.origin, publicKey)}\n`);
}

/** Runs the request. Standard output has only results for scripts, such as a new key. */
export async function runRequest(
  request: Exclude<KeyRequest, RequestFor<'nats' | 'streams' | 'master' | 'log'>>,
  store: KeyStore,
  config: Config,
): Promise<void> {
  switch (request.command) {
    case 'create': {
      const { project, scope, label, collections, validMs } = request;
      const expiresAtMs = validMs === null ? null : systemClock.nowMs() + validMs;
      const wanted = { project, scope, label, collections, expiresAtMs };
      const { key, record } = await createKey(await store.keys(), wanted, systemClock, systemEntropy);
      const until = expiresAtMs === null ? '' : `, until ${shortTime(expiresAtMs)}`;
      say('done', 'key', `${record.id} for project ${project}, ${scope}${until}; shown this once:`);
      print([key]);
      return;
    }
    case 'list': {
      const keys = await listKeys(await store.keys(), request.project);
      if (keys.length === 0) say('plain', 'keys', 'no keys yet');
      else print(tableOf(keys));
      return;
    }
    case 'revoke': {
      if ((await revokeKey(await store.keys(), request.id)) === undefined)
        throw new Error(`no key has the id ${request.id}; ${commandText('keys', 'list')} shows the ids`);
      say('done', 'key', `${request.id} is revoked`);
      return;
    }
    case 'release': {
      const { collectionId } = request;
      if (!(await (await store.openings()).delete(failuresKey(collectionId))))
        throw new Error(`no opening of collection ${collectionId} has failed; /health lists the quarantined ones`);
      say('done', 'collection', `${collectionId} is released; the next request opens it`);
      return;
    }
    case 'rotate-master':
      return rotate(request, await store.vault(), config.masterKeyFile);
    default:
      unreachable(request);
  }
}

/** Rotates the master key, with a bar for each scan of the vault that finds keys to wrap. */
async function rotate(
  { prepareOnly, forgetDamaged }: RequestFor<'rotate-master'>,
  vault: VaultStore,
  masterKeyFile: string,
): Promise<void> {
  let shown: Progress | undefined;
  const onProgress = (done: number, total: number): void => {
    shown ??= showProgress('vault', total, ['wrapped', 'wrapped']);
    shown.advance(1);
    if (done < total) return;
    shown.finish();
    shown = undefined;
  };
  const options = { vault, masterKeyFile, entropy: systemEntropy, prepareOnly, forgetDamaged, onProgress };
  const { outcome, oldId, newId, rewrapped } = await rotateMaster(options).finally(() => shown?.abandon());
  if (outcome === 'prepared') {
    say('done', 'master key', `${newId} is added beside ${oldId} in ${masterKeyFile}, and is not used yet`);
    const others = `every other machine with shards, then: ${commandText('keys', 'rotate-master')}`;
    say('plain', 'next', `copy ${masterKeyFile} to ${others}`);
    return;
  }
  const replaced = `${newId} has replaced ${oldId}, which is erased`;
  say('done', 'master key', `${replaced}; data keys rewrapped: ${grouped(rewrapped)}`);
  const others = 'that of every other machine with shards, and over every backup of it';
  say('warning', 'next', `copy ${masterKeyFile} over ${others}`);
}

const print = (lines: readonly string[]): void => {
  process.stdout.write(`${lines.join('\n')}\n`);
};

function tableOf(keys: readonly KeyRecord[]): string[] {
  const nowMs = systemClock.nowMs();
  const expiry = (key: KeyRecord): string => {
    if (key.expiresAtMs === null) return 'never';
    return isExpired(key, nowMs) ? 'expired' : shortTime(key.expiresAtMs);
  };
  return tableLines(
    ['id', 'project', 'scope', 'collections', 'created', 'expires', 'label'].map((title) => ({ title })),
    keys.map((key) => [
      ...[key.id, key.project, key.scope, key.collections?.join(',') ?? 'all'],
      ...[shortTime(key.createdAtMs), expiry(key), key.label ?? ''],
    ]),
  );
}

/** `2026-11-21 09:30Z` */
const shortTime = (ms: number): string => `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')}Z`;
