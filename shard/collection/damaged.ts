/** Stored bytes that do not verify, found while a collection was read. Quarantines that collection and no other. */
import type { DamagedPart } from '../../shared/damage.js';
import { LogDamaged } from '../../shared/log/eventLog.js';

interface DamagedOptions {
  readonly part?: 'log' | 'vault';
  /** Of a vault entry: the collection is whole again once this key is shredded. */
  readonly keyId?: string;
  readonly cause?: unknown;
}

export class Damaged extends Error {
  readonly part: DamagedPart & ('log' | 'vault');
  readonly keyId: string | undefined;

  constructor(reason: string, { part = 'log', keyId, cause }: DamagedOptions = {}) {
    super(reason, cause === undefined ? undefined : { cause });
    this.name = 'Damaged';
    this.part = part;
    this.keyId = keyId;
  }
}

/** What the log itself reports as damage is thrown as Damaged; everything else as it is. */
export async function noticingDamage<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof LogDamaged ? new Damaged(error.message, { cause: error }) : error;
  }
}
