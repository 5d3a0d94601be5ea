import { isDeepStrictEqual } from 'node:util';
import type { MultiSearchResponse, PartialFailure } from '../../../coordinator/contract/search.js';
import { systemClock } from '../../../shared/clock.js';
import { expect, until } from '../expectation.js';
import { duration, fact, gap, tell } from '../story.js';
import { COLLECTIONS, K, type Loaded, type Tour } from '../tour.js';
import { assertVerified, send, type Written } from './receipt.js';
import { showHits } from './search.js';

const RECOVERED_WITHIN_MS = 20_000;

/** What there was before the kill, to compare with. */
export interface Killed {
  readonly before: MultiSearchResponse;
  readonly atMs: number;
}

const search = ({ client, deal }: Tour): Promise<MultiSearchResponse> =>
  client.searchMulti(COLLECTIONS, deal.puzzle.pixels, K);

export async function killShard(tour: Tour, { shardOfEven }: Loaded): Promise<Killed> {
  tell(`Shard ${shardOfEven}, which serves even, is killed without warning (kill -9). The same search, at once:`);
  const before = await search(tour);
  const atMs = systemClock.monotonicMs();
  const pid = await tour.cluster.killShard(shardOfEven);
  const answer = await search(tour);
  const afterMs = systemClock.monotonicMs() - atMs;
  fact('plain', 'killed', `shard ${shardOfEven}, process ${pid}`);
  gap();
  await showHits(tour.client, answer.results);
  if (answer.partial_failures === undefined) showWhole(answer, before, afterMs);
  else showHalf(answer, answer.partial_failures);
  return { before, atMs };
}

function showWhole(answer: MultiSearchResponse, before: MultiSearchResponse, afterMs: number): void {
  expect(isDeepStrictEqual(answer, before), 'the search finds something else than before the kill');
  fact('done', 'answered', `${duration(afterMs)} after the kill, and whole`);
  gap();
  tell('Nobody served even for a moment. The coordinator kept the question, and asked again until somebody did.');
}

/** Where the shard takes longer to come back than a question is kept. */
function showHalf({ collections_searched: searched }: MultiSearchResponse, failures: readonly PartialFailure[]): void {
  expect(searched.join() === 'odd', 'the other collection was not searched');
  expect(failures.map(({ collection }) => collection).join() === 'even', 'not just the collection even is missing');
  fact('plain', 'searched', searched.join(', '));
  for (const failure of failures) fact('warning', 'partial', `partial_failures: ${JSON.stringify(failure)}`);
  gap();
  tell('Half an answer, and it says so: what is found is right, and what is missing is named.');
}

export async function recover(tour: Tour, { before, atMs }: Killed, written: Written): Promise<void> {
  const { client } = tour;
  tell('The supervisor starts the shard again. It reads its log, verifies the chain, and serves:');
  const answer = await until('the search was not complete again', RECOVERED_WITHIN_MS, async () => {
    const now = await search(tour);
    return now.partial_failures === undefined ? now : undefined;
  });
  const afterMs = systemClock.monotonicMs() - atMs;
  gap();
  await showHits(client, answer.results);
  expect(isDeepStrictEqual(answer, before), 'the search finds something else than before the kill');
  fact('done', 'recovered', `${duration(afterMs)} after the kill: the same results as before it`);

  const again = await send(written, client);
  expect(again.deduplicated && again.id === written.answer.id, 'the insert that was sent again made another record');
  expect(
    isDeepStrictEqual(again.receipt, written.answer.receipt),
    'the insert that was sent again has another receipt',
  );
  fact('done', 'same receipt', 'the insert sent again stores nothing and gets its first receipt');
  assertVerified(again.receipt, await client.record('even', again.id));
  fact('done', 'verified', `record ${again.id} is still what that receipt says`);
  gap();
}
