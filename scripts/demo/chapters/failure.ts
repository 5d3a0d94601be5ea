/** Chapter of the demo: a shard is killed, its collection recovers, and nothing is lost. */
import { isDeepStrictEqual } from 'node:util';
import type { MultiSearchResponse, PartialFailure } from '../../../client/index.js';
import { systemClock } from '../../../shared/clock.js';
import { durationText, expect, fact, gap, tell, until } from '../story.js';
import type { Loaded, Tour } from '../tour.js';
import { assertVerified, type SentInsert, send } from './receipt.js';
import { searchPuzzle, showHits } from './search.js';

const RECOVERED_WITHIN_MS = 20_000;

interface Killed {
  /** The result of a search before the kill. */
  readonly before: MultiSearchResponse;
  readonly atMs: number;
}

export async function killShard(tour: Tour, { shardOfEven }: Loaded): Promise<Killed> {
  tell(`Shard ${shardOfEven}, which serves even, is killed without warning (kill -9). The same search, at once:`);
  const before = await searchPuzzle(tour);
  const atMs = systemClock.monotonicMs();
  const pid = await tour.cluster.killShard(shardOfEven);
  const answer = await searchPuzzle(tour);
  const afterMs = systemClock.monotonicMs() - atMs;
  fact('plain', 'killed', `shard ${shardOfEven}, process ${pid}`);
  gap();
  await showHits(tour, answer.results);
  if (answer.partialFailures !== undefined) showHalf(answer, answer.partialFailures);
  else {
    assertSame(answer, before);
    fact('done', 'answered', `${durationText(afterMs)} after the kill, and whole`);
    gap();
    tell('For a moment no shard served the collection even. The coordinator repeated the search until one did.');
  }
  return { before, atMs };
}

const assertSame = (answer: MultiSearchResponse, before: MultiSearchResponse): void =>
  expect(isDeepStrictEqual(answer, before), 'the search finds other records than before the kill');

/** Shows the partial answer if the shard is away for longer than the coordinator retries. */
function showHalf({ collectionsSearched: searched }: MultiSearchResponse, failures: readonly PartialFailure[]): void {
  expect(searched.join() === 'odd', 'the other collection was not searched');
  expect(failures.map(({ collection }) => collection).join() === 'even', 'not just the collection even is missing');
  fact('plain', 'searched', searched.join(', '));
  for (const failure of failures) fact('warning', 'partial', `partial_failures: ${JSON.stringify(failure)}`);
  gap();
  tell('This is half of the answer, and it says so: the found records are right, and the missing collection is named.');
}

export async function recover(
  tour: Tour,
  { idOfEven, shardOfEven }: Loaded,
  { before, atMs }: Killed,
  written: SentInsert,
): Promise<void> {
  tell(
    'The supervisor starts the shard again. If that takes too long, the other shard takes the collection over. ' +
      'The new owner reads the log, verifies the chain, and serves:',
  );
  const answer = await until('the search was not complete again', RECOVERED_WITHIN_MS, async () => {
    const now = await searchPuzzle(tour);
    return now.partialFailures === undefined ? now : undefined;
  });
  const afterMs = systemClock.monotonicMs() - atMs;
  gap();
  await showHits(tour, answer.results);
  assertSame(answer, before);
  const owner = (await tour.cluster.owners()).get(idOfEven);
  fact('done', 'even', `is served by shard ${owner}, which ${owner === shardOfEven ? 'came back' : 'took over'}`);
  fact('done', 'recovered', `${durationText(afterMs)} after the kill: the same results as before it`);

  const again = await send(tour, written);
  expect(again.deduplicated && again.id === written.answer.id, 'the insert that was sent again made another record');
  const isSameReceipt = isDeepStrictEqual(again.receipt, written.answer.receipt);
  expect(isSameReceipt, 'the insert that was sent again has another receipt');
  fact('done', 'same receipt', 'the insert sent again stores nothing and gets its first receipt');
  assertVerified(again.receipt, await tour.vouch.collection('even').get(again.id, tour.options));
  fact('done', 'verified', `record ${again.id} is still what that receipt says`);
  gap();
}
