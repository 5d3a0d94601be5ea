/** Reads the access log of a collection at the end of a run, verified by the project's verifier. */
import { messageOf } from '../../../shared/errors/errors.js';
import { decodeAccessFrame } from '../../../shared/log/accessFrame.js';
import { type AccessHead, verifyAccessLog } from '../../../verifier/index.js';
import type { LogOf } from '../readLogs.js';

export interface AccessEntry {
  readonly entry: number;
  readonly actor: { readonly request_id: string };
  readonly kind: string;
  readonly status: number;
  readonly request_hash?: string;
  readonly answer_hash?: string;
  /** Sequence before the read, if events were committed meanwhile. */
  readonly since?: number;
  readonly sequence?: number;
  readonly state_hash?: string;
}

export interface AccessEntries {
  readonly entries: readonly AccessEntry[];
  /** Number of entries that were removed before the first one. */
  readonly removed: number;
  /** Reasons why the log does not verify. */
  readonly wrong: readonly string[];
}

/** `claims`: heads that the log must have had, as the service or its log stated them. */
export async function readAccessLog(
  { name, id }: LogOf,
  frames: AsyncIterable<Uint8Array>,
  claims: readonly AccessHead[],
): Promise<AccessEntries> {
  const entries: AccessEntry[] = [];
  try {
    const kept = keptEntries(frames, entries);
    const { wrong, removed, isBeginProven } = await verifyAccessLog(kept, BigInt(id), claims);
    const isProven = removed === undefined || claims.length === 0 || isBeginProven;
    const what = ({ reason }: { readonly reason: string }): string =>
      `the access log of ${name} does not have a stated head: ${reason}`;
    const unstated = `no stated head of the access log of ${name} covers the entries that were removed`;
    return {
      entries,
      removed: removed?.size ?? 0,
      wrong: [...wrong.map(what), ...(isProven ? [] : [unstated])],
    };
  } catch (error) {
    return { entries: [], removed: 0, wrong: [`the access log of ${name} does not verify: ${messageOf(error)}`] };
  }
}

async function* keptEntries(
  frames: AsyncIterable<Uint8Array>,
  entries: AccessEntry[],
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const bytes of frames) {
    yield bytes;
    for (const entry of decodeAccessFrame(bytes).entries)
      entries.push(JSON.parse(Buffer.from(entry).toString()) as AccessEntry);
  }
}
