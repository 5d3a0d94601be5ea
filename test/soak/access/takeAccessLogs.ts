/** Copies the access logs of a running cluster at the end of a run, and compares them with the reads of the clients. */
import { Agent } from 'node:http';
import { checkedFrames, framesIn } from '../../../coordinator/body/frames.js';
import { decodeAccessFrame } from '../../../shared/log/accessFrame.js';
import { type AccessHead, accessHeadIn } from '../../../verifier/index.js';
import { type CollectionLog, stateHashAt } from '../checker/log.js';
import { exchange } from '../clients/httpCall.js';
import type { LogOf } from '../readLogs.js';
import { AccessCheck } from './accessCheck.js';
import { type AccessEntry, readAccessLog } from './accessEntries.js';
import type { AskedRead } from './askedReads.js';

const PATIENCE_MS = 15_000;

export interface TakenAccess {
  /** Entries by collection. */
  readonly entries: ReadonlyMap<string, readonly AccessEntry[]>;
  /** Reasons why logs do not verify. */
  readonly wrong: readonly string[];
}

/** `key`: of scope `admin`. Throws an Error if the service does not answer. */
export async function takeAccessLogs(
  address: string,
  key: string,
  collections: readonly LogOf[],
): Promise<TakenAccess> {
  const agent = new Agent({ keepAlive: true });
  const ask = async (path: string): Promise<unknown> => {
    const answer = await exchange({ method: 'GET', url: `${address}${path}`, key, patienceMs: PATIENCE_MS, agent });
    if (answer.status !== 200) throw new Error(`${path} is not answered: ${JSON.stringify(answer)}`);
    return answer.body;
  };
  const entries = new Map<string, readonly AccessEntry[]>();
  const wrong: string[] = [];
  try {
    for (const collection of collections) {
      const query = `collection=${collection.name}`;
      const head = accessHeadIn(await ask(`/v1/access?${query}&limit=1`), collection.name);
      const read = await readAccessLog(collection, frames(ask, query, head), [head]);
      entries.set(collection.name, read.entries);
      wrong.push(...read.wrong);
    }
  } finally {
    agent.destroy();
  }
  return { entries, wrong };
}

async function* frames(
  ask: (path: string) => Promise<unknown>,
  query: string,
  { size }: AccessHead,
): AsyncGenerator<Uint8Array, void, undefined> {
  for (let last = 0; last < size; ) {
    const piece = (await ask(`/v1/access/log?${query}&from=${last + 1}`)) as Buffer;
    for (const frame of framesIn(checkedFrames(piece))) {
      yield frame;
      const { before, entries } = decodeAccessFrame(frame);
      last = before.size + entries.length;
    }
  }
}

export const countOf = ({ entries }: TakenAccess): number =>
  [...entries.values()].reduce((sum, { length }) => sum + length, 0);

/** Returns what is wrong. `logs`: of the collections. Their state roots are known of some events only. */
export function wrongAccess(
  { entries, wrong }: TakenAccess,
  reads: readonly AskedRead[],
  logs: readonly CollectionLog[],
): string[] {
  return [
    ...wrong,
    ...[...entries].flatMap(([name, all]) => {
      const log = logs.find(({ collection }) => collection === name)!;
      const check = new AccessCheck(name, all, (sequence, stateHash) => {
        const root = log.stateRoots.get(sequence);
        return root === undefined || stateHashAt(log, sequence, root) === stateHash;
      });
      const sent = reads.filter(({ collections }) => collections.includes(name));
      return [...check.wrongIn(sent), ...check.unsent(sent)];
    }),
  ];
}
