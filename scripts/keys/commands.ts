import type { Config } from '../../config/config.js';
import { systemClock, systemEntropy } from '../../shared/clock.js';
import { unreachable } from '../../shared/errors.js';
import { createKey, isExpired, type KeyRecord, listKeys, revokeKey } from '../../shared/keys.js';
import { say } from '../terminal/line.js';
import { tableLines } from '../terminal/table.js';
import type { Request } from './request.js';
import { runRotation } from './rotation.js';
import type { KeyStore } from './store.js';

/** Does what is asked. What a script may want to read, such as a new key, is all there is on standard output. */
export async function runRequest(request: Request, store: KeyStore, config: Config): Promise<void> {
  const { bucket } = store;
  switch (request.command) {
    case 'create': {
      const { project, scope, label, validMs } = request;
      const expiresAtMs = validMs === null ? null : systemClock.nowMs() + validMs;
      const { key, record } = await createKey(
        bucket,
        { project, scope, label, expiresAtMs },
        systemClock,
        systemEntropy,
      );
      const until = expiresAtMs === null ? '' : `, until ${shortTime(expiresAtMs)}`;
      say('done', 'key', `${record.id} for project ${project}, ${scope}${until}; shown this once:`);
      print([key]);
      return;
    }
    case 'list': {
      const keys = await listKeys(bucket, request.project);
      if (keys.length === 0) say('plain', 'keys', 'there are none');
      else print(tableOf(keys));
      return;
    }
    case 'revoke': {
      if ((await revokeKey(bucket, request.id)) === undefined) throw new Error(`there is no key ${request.id}`);
      say('done', 'key', `${request.id} is revoked`);
      return;
    }
    case 'rotate-master':
      return runRotation(request, await store.vault(), config.masterKeyFile);
    default:
      unreachable(request);
  }
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
    ['id', 'project', 'scope', 'created', 'expires', 'label'].map((title) => ({ title })),
    keys.map((key) => [key.id, key.project, key.scope, shortTime(key.createdAtMs), expiry(key), key.label ?? '']),
  );
}

/** `2026-11-21 09:30Z` */
const shortTime = (ms: number): string => `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')}Z`;
