/** Judges the access logs at the end of a run by the soak's check of them. */
import { AccessCheck, type MayHaveHad } from '../../soak/access/accessCheck.js';
import { readAccessLog } from '../../soak/access/accessEntries.js';
import type { AskedRead } from '../../soak/access/askedReads.js';
import type { LogOf } from '../../soak/readLogs.js';
import type { SimulatedService } from '../cluster/simulatedService.js';
import { SIMULATED_DAY_MS } from '../world/accessDay.js';
import type { World } from '../world/world.js';

interface AuditedLog extends LogOf {
  readonly retentionDays: number;
}

/** Returns the moment of the world from which on every sent read has its entry, whichever clock dated and removed entries. */
function keptFrom({ nowMs, startedMs, clockErrorMs }: World, retentionDays: number): number {
  const latestDay = Math.floor((startedMs + nowMs + clockErrorMs) / SIMULATED_DAY_MS);
  return (latestDay - retentionDays) * SIMULATED_DAY_MS - startedMs + clockErrorMs;
}

/** Returns what is wrong. `collections`: those that have an access log, with the days for which their entries are kept. */
export async function judgeAccess(
  service: SimulatedService,
  collections: readonly AuditedLog[],
  reads: readonly AskedRead[],
): Promise<string[]> {
  const wrong: string[] = [];
  const { loss } = service.nats ?? {};
  for (const collection of collections) {
    const { name, id, retentionDays } = collection;
    const claims = loss === undefined ? service.accessClaims(id) : [];
    const read = await readAccessLog(collection, service.accessFrames(id), claims);
    wrong.push(...read.wrong);
    // Entries before a loss may be lost, and the states that they name.
    const fromMs = loss?.atMs ?? 0;
    const sent = reads.filter((asked) => asked.collections.includes(name));
    const mayHaveHad: MayHaveHad = (sequence, stateHash, isOfPast) => {
      const had = service.states.hashAt(id, sequence);
      // A past state may be one within a frame, which no process has shown.
      return had === stateHash || (had === undefined && isOfPast);
    };
    const keptFromMs = read.removed === 0 ? 0 : keptFrom(service.world, retentionDays);
    const check = new AccessCheck(name, read.entries, mayHaveHad, ({ sentMs }) => sentMs < keptFromMs);
    wrong.push(...check.wrongIn(sent.filter(({ sentMs }) => sentMs >= fromMs)), ...check.unsent(sent));
    if (read.removed > 0) service.world.note(`${read.removed} entries of the access log of ${name} are removed`);
    service.world.trace.number(read.entries.length);
  }
  return wrong;
}
