/** Stored bytes that do not verify, found while a collection was read. Quarantines that collection and no other. */
import { LogDamaged } from '../../shared/log/eventLog.js';

export class Damaged extends Error {
  constructor(reason: string, options?: ErrorOptions) {
    super(reason, options);
    this.name = 'Damaged';
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
