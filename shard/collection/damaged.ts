/** Stored bytes that do not verify, found while a collection was read. Quarantines that collection and no other. */
import type { DamagedPart } from '../../shared/damage.js';
import { LogDamaged } from '../../shared/log/eventLog.js';

export class Damaged extends Error {
  readonly part: DamagedPart & ('log' | 'vault');

  constructor(reason: string, { part = 'log', cause }: { part?: 'log' | 'vault'; cause?: unknown } = {}) {
    super(reason, cause === undefined ? undefined : { cause });
    this.name = 'Damaged';
    this.part = part;
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
