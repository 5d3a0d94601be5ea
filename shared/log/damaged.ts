import type { DamagedPart } from '../model/damage.js';
import { LogDamaged } from './eventLog.js';

type QuarantinedPart = DamagedPart & ('log' | 'vault' | 'opening');

interface DamagedOptions {
  readonly part?: QuarantinedPart;
  /** The key of a damaged vault entry: once it is shredded, the collection is intact again. */
  readonly keyId?: string;
  readonly cause?: unknown;
}

/** Error that quarantines one collection: its stored bytes do not verify, or its opening has stopped shards. */
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

/** Runs `work`, and converts its LogDamaged to Damaged; throws other errors unchanged. */
export async function noticingDamage<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof LogDamaged ? new Damaged(error.message, { cause: error }) : error;
  }
}
