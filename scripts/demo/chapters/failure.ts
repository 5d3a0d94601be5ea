import { isDeepStrictEqual } from 'node:util';
import type { MultiSearchResponse } from '../../../coordinator/contract/search.js';
import { systemClock } from '../../../shared/clock.js';
import { expect, until } from '../expectation.js';
import { duration, fact, gap, tell } from '../story.js';
import { COLLECTIONS, K, type Loaded, type Tour } from '../tour.js';
import { assertVerified, send, type Written } from './receipt.js';
import { showHits } from './search.js';

/** A shard that is quick to come back may have answered before it was missed; then it is killed again. */
const KILLS = 5;
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
  const { answer, pid, atMs } = await searchWithout(tour, shardOfEven);
  fact('plain', 'killed', `shard ${shardOfEven}, process ${pid}`);
  gap();
  await showHits(tour.client, answer.results);
  const failures = answer.partial_failures ?? [];
  expect(answer.collections_searched.join() === 'odd', 'the other collection was not searched');
  expect(failures.map(({ collection }) => collection).join() === 'even', 'not just the collection even is missing');
  fact('plain', 'searched', answer.collections_searched.join(', '));
  for (const failure of failures) fact('warning', 'partial', `partial_failures: ${JSON.stringify(failure)}`);
  gap();
  tell('Half an answer, and it says so: what is found is right, and what is missing is named.');
  return { before, atMs };
}

async function searchWithout(
  tour: Tour,
  shard: string,
): Promise<{ answer: MultiSearchResponse; pid: number; atMs: number }> {
  for (let kill = 0; kill < KILLS; kill++) {
    const atMs = systemClock.monotonicMs();
    const pid = await tour.cluster.killShard(shard);
    const answer = await search(tour);
    if (answer.partial_failures !== undefined) return { answer, pid, atMs };
  }
  expect(false, `shard ${shard} was killed ${KILLS} times, and no search missed it`);
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
