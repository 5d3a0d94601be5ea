/**
 * Judges searches over indexes, in all processes of a world. A search may miss some rows that its index covers. Rows
 * outside of the index are scanned exactly. So such a row that lives throughout the search is found, or is farther away
 * than all hits. Queries of clients are rarely near such a row. So the judge follows each search with one of its own, at
 * the newest of these rows.
 */
import { Generation } from '../../../shard/index/generation.js';
import type { VectorBlocks } from '../../../shard/kernel/vectorBlocks.js';
import { FIXED_ONE } from '../../../shared/limits.js';
import type { Findings } from './findings.js';
import { after, JudgeOf } from './wrapped.js';

/** Factor by which a missed row must be nearer than the last hit: it exceeds the rounding error of `distance`. */
const MARGIN = 1 + 2 ** -40;

const findingsOf = new JudgeOf<Findings>();
/** Queries that the judge added. */
const ownQueries = new WeakSet<Int32Array>();

/** Judges the indexes of a world from now on. */
export function judgeIndexes(findings: Findings): void {
  findingsOf.set(findings.world, findings);
}

/**
 * Reports live rows that the index does not cover, and that are missing although nearer than the last hit. The search
 * that `answer` is the result of has just started.
 */
async function judge(
  findings: Findings,
  generation: Generation,
  answer: ReturnType<Generation['search']>,
  [query, k, eligible]: Parameters<Generation['search']>,
): Promise<void> {
  const { vectors, rows, index, kind } = generation.parts;
  if (index === undefined || generation.tail === 0) return;
  const { name } = findings.world.party.process;
  const uncovered = [...liveSlots(vectors)]
    .filter((slot) => !rows.covered.has(slot) && eligible?.has(slot) !== false)
    .map((slot) => ({ slot, id: vectors.idOf(slot) }));
  const newest = uncovered.at(-1);
  if (newest !== undefined && !ownQueries.has(query)) void searchFor(vectors.vectorBytes(newest.slot), generation);
  const hits = await Promise.resolve(answer).catch(() => undefined);
  if (hits === undefined) return;
  const found = new Set(hits.ids);
  const farthest = hits.ids.length < k ? Number.POSITIVE_INFINITY : hits.scores.at(-1)!;
  const isLive = ({ slot, id }: { slot: number; id: number }): boolean =>
    slot < vectors.slots && vectors.blocks.length > 0 && vectors.isLive(slot) && vectors.idOf(slot) === id;
  for (const each of uncovered)
    if (!found.has(each.id) && isLive(each) && MARGIN * distance(query, vectors.vectorView(each.slot)) < farthest)
      findings.add(`a search at ${name} misses record ${each.id}, which its index of kind ${kind} does not cover`);
}

/** Searches at a row. The answer is judged like that of any search, but no further query follows it. */
async function searchFor({ buffer, byteOffset, byteLength }: Uint8Array, generation: Generation): Promise<void> {
  const query = new Int32Array(buffer.slice(byteOffset, byteOffset + byteLength));
  ownQueries.add(query);
  try {
    await generation.search(query, 1, undefined);
  } catch {
    // A failed search is not judged.
  }
}

function* liveSlots({ blocks }: VectorBlocks): Generator<number> {
  for (const { live, firstSlot } of blocks) for (const row of live) yield firstSlot + row;
}

/** Squared distance, up to a rounding error. */
function distance(query: Int32Array, vector: Uint8Array): number {
  const components = new DataView(vector.buffer, vector.byteOffset, vector.byteLength);
  return query.reduce(
    (sum, component, i) => sum + ((component - components.getInt32(4 * i, true)) / FIXED_ONE) ** 2,
    0,
  );
}

after(Generation.prototype, 'search', (generation, answer, search) => {
  const findings = findingsOf.current;
  if (findings !== undefined) void judge(findings, generation, answer, search);
});
