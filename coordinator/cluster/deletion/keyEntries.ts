/** Access to the vault by calls to a shard: a coordinator cannot read the vault itself. */
import type { KeyEntry, ShardResults, VaultCall } from '../../../shared/protocol/calls.js';
import type { Envelope } from '../../../shared/transport/transport.js';
import type { Members } from '../members/members.js';

/** Each method throws `unavailable` if no shard answers; the change may have happened all the same. */
export class KeyEntries {
  constructor(private readonly members: Pick<Members, 'askAny'>) {}

  async find(project: string, keyId: string, envelope: Envelope): Promise<KeyEntry | 'damaged' | undefined> {
    const { entry } = await this.members.askAny({ op: 'keyEntry', project, keyId }, envelope);
    return entry ?? undefined;
  }

  /** Replaces `before`, as returned by `find`, with an entry without a key. False if the entry has changed. */
  async destroy(
    { project, keyId }: { readonly project: string; readonly keyId: string },
    before: KeyEntry | 'damaged' | undefined,
    collectionIds: readonly number[],
    envelope: Envelope,
  ): Promise<boolean> {
    const entry = before === 'damaged' ? before : (before?.revision ?? null);
    const call = { op: 'destroyKey', project, keyId, entry, collectionIds } as const;
    return (await this.members.askAny(call, envelope)).isDone;
  }

  /** Removes collections from the pending ones; returns those left. */
  async strikeOff(
    project: string,
    keyId: string,
    collectionIds: readonly number[],
    envelope: Envelope,
  ): Promise<readonly number[]> {
    return (await this.members.askAny({ op: 'strikeOff', project, keyId, collectionIds }, envelope)).pendingIds;
  }

  /** Signs the certificate of a shredded key, whose collections have these statements. Throws `conflict`, `unavailable`. */
  certify(
    project: string,
    keyId: string,
    collections: Extract<VaultCall, { op: 'certifyErasure' }>['collections'],
    envelope: Envelope,
  ): Promise<ShardResults['certifyErasure']> {
    return this.members.askAny({ op: 'certifyErasure', project, keyId, collections }, envelope);
  }

  async settle(project: string, keyId: string, envelope: Envelope): Promise<void> {
    await this.members.askAny({ op: 'settleKey', project, keyId }, envelope);
  }
}
