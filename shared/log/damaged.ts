import type { DamagedPart } from '../model/damage.js';
import { LogDamaged } from './eventLog.js';

type QuarantinedPart = DamagedPart & ('log' | 'vault' | 'opening');

interface DamagedOptions {
  readonly part?: QuarantinedPart;
  /** The key of a damaged vault entry: the collection is whole again once it is shredded. */
  readonly keyId?: string;
  readonly cause?: unknown;
}

/** Stored bytes do not verify, or the opening of their collection has stopped shards. Quarantines that collection only. */
export class Damaged extends Error {
  override name = 'Damaged';
  readonly part: QuarantinedPart;
  readonly keyId: string | undefined;

  constructor(reason: string, { part = 'log', keyId, cause }: DamagedOptions = {}) {
    super(reason, cause === undefined ? undefined : { cause });
    this.part = part;
    this.keyId = keyId;
  }
}

/** Throws a LogDamaged of `work` as Damaged; everything else as it is. */
export async function noticingDamage<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof LogDamaged ? new Damaged(error.message, { cause: error }) : error;
  }
}
