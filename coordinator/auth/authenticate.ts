/** Authenticates callers: from the Authorization header to a project and a scope. */

import { refusal, VouchError } from '../../shared/errors/errors.js';
import { type MessageName, messageText } from '../../shared/errors/errorTable.js';
import type { KeyCollections } from '../../shared/registry/keyCollections.js';
import { type KeyRecord, keyHash, type Scope } from '../../shared/registry/keys.js';
import type { FailedAttempts } from '../limits/failedAttempts.js';
import type { Keyring } from './keyring.js';

export interface Caller {
  readonly keyId: string;
  readonly project: string;
  readonly scope: Scope;
  /** The collections that the key may use. */
  readonly collections: KeyCollections;
}

const BEARER = 'bearer ';

export class Authenticator {
  constructor(
    private readonly keyring: Keyring,
    private readonly attempts: FailedAttempts,
  ) {}

  /** The caller, if this process knows the key already. A failure is not counted. */
  known(authorization: string): Caller | undefined {
    const hashHex = hashOf(authorization);
    if (hashHex === undefined) return undefined;
    const known = this.keyring.find(hashHex);
    return known === undefined || this.keyring.isExpired(hashHex, known) ? undefined : callerOf(known);
  }

  /**
   * Returns a promise only if the store must be asked. Throws `unauthorized`, or `rate_limited` if the client's address has
   * failed too often. A valid key is accepted from any address. This calls `address` at most once, before any wait.
   */
  authenticate(authorization: string, address: () => ArrayBuffer): Caller | Promise<Caller> {
    if (authorization === '') throw this.#refuse(address, 'absent');
    const hashHex = hashOf(authorization);
    if (hashHex === undefined) throw this.#refuse(address, 'malformed');
    const known = this.keyring.find(hashHex);
    if (known !== undefined && !this.keyring.isExpired(hashHex, known)) return callerOf(known);
    if (known !== undefined || this.keyring.isKnownAbsent(hashHex)) throw this.#refuse(address, 'unknown');

    // The attempt is counted before the store is asked, so that guessing cannot flood the store.
    const client = address();
    const refusal = this.#refuse(() => client, 'unknown');
    if (refusal.code === 'rate_limited') throw refusal;
    return this.#read(hashHex, client, refusal);
  }

  async #read(hashHex: string, client: ArrayBuffer, refusal: VouchError): Promise<Caller> {
    const read = await this.keyring.read(hashHex).catch((error: unknown) => {
      // Without the store's answer the key may be valid.
      this.attempts.giveBack(client);
      throw error;
    });
    if (read === undefined || this.keyring.isExpired(hashHex, read)) throw refusal;
    this.attempts.giveBack(client);
    return callerOf(read);
  }

  #refuse(address: () => ArrayBuffer, message: MessageName<'unauthorized'>): VouchError {
    const retryAfterSecs = this.attempts.take(address());
    if (retryAfterSecs === 0) return refusal('unauthorized', message);
    return new VouchError('rate_limited', messageText('rate_limited', 'address'), { retryAfterSecs });
  }
}

/** The hash of the key in the header; undefined without a key. */
function hashOf(authorization: string): string | undefined {
  const isBearer = authorization.slice(0, BEARER.length).toLowerCase() === BEARER;
  return isBearer ? keyHash(authorization.slice(BEARER.length).trim()) : undefined;
}

const callerOf = ({ id: keyId, project, scope, collections }: KeyRecord): Caller => ({
  keyId,
  project,
  scope,
  collections,
});
