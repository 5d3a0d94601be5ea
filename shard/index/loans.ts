/** Scratch that is lent to a thread for a batch of searches. */
import type { Arena } from '../kernel/arena.js';
import { allocateScratch, freeScratch, type Region } from '../kernel/vectorMemory.js';
import type { LentTable } from './batchForm.js';

/** Lends scratch in each arena. Throws `unavailable` and `capacity_exceeded`, and then lends nothing. */
export function lend(arenas: readonly Arena[], bytesIn: (arena: Arena) => number): Region[] {
  const loans: Region[] = [];
  try {
    for (const arena of arenas) loans.push(allocateScratch(arena, bytesIn(arena)));
    return loans;
  } catch (error) {
    takeBack(loans);
    throw error;
  }
}

export function takeBack(loans: readonly Region[]): void {
  for (const loan of loans) freeScratch(loan);
}

/** Returns the table for a message. `lent`: all arenas that are lent, in the order of the loans. */
export const tableFor = (table: SharedArrayBuffer, arenas: readonly Arena[], lent: readonly Arena[]): LentTable => ({
  table,
  arenas: arenas.map((arena) => lent.indexOf(arena)),
});
