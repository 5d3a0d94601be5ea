/** Judges the access logs at the end of a run by the soak's check of them. */
import { AccessCheck } from '../../soak/access/accessCheck.js';
import { readAccessLog } from '../../soak/access/accessEntries.js';
import type { AskedRead } from '../../soak/access/askedReads.js';
import type { LogOf } from '../../soak/readLogs.js';
import type { SimulatedService } from '../cluster/simulatedService.js';

/** Returns what is wrong. `collections`: those that have an access log. */
export async function judgeAccess(
  service: SimulatedService,
  collections: readonly LogOf[],
  reads: readonly AskedRead[],
): Promise<string[]> {
  const wrong: string[] = [];
  const { loss } = service.nats ?? {};
  for (const collection of collections) {
    const { name, id } = collection;
    const claims = loss === undefined ? service.accessClaims(id) : [];
    const read = await readAccessLog(collection, service.accessFrames(id), claims);
    wrong.push(...read.wrong);
    // Entries before a loss may be lost, and the states that they name.
    const fromMs = loss?.atMs ?? 0;
    const sent = reads.filter((asked) => asked.collections.includes(name));
    const check = new AccessCheck(name, read.entries, (sequence, stateHash, isOfPast) => {
      const had = service.states.hashAt(id, sequence);
      // A past state may be one within a frame, which no process has shown.
      return had === stateHash || (had === undefined && isOfPast);
    });
    wrong.push(...check.wrongIn(sent.filter(({ sentMs }) => sentMs >= fromMs)), ...check.unsent(sent));
    service.world.trace.number(read.entries.length);
  }
  return wrong;
}
