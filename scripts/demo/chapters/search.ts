/** Chapter of the demo: searches in one collection and in several, compared with an exact search here. */
import { isDeepStrictEqual } from 'node:util';
import type { MultiSearchResponse } from '../../../client/index.js';
import { systemClock } from '../../../shared/clock.js';
import { counted } from '../../terminal/line.js';
import type { Digit } from '../digits.js';
import { type Hit, nearest, type Stored } from '../nearest.js';
import { captionedLines, pictureLines } from '../pictures.js';
import { durationText, expect, fact, gap, show, tell } from '../story.js';
import { COLLECTIONS, type Loaded, NEIGHBOURS, type Tour } from '../tour.js';

/** Number of searches for the median time. */
const REPEATS = 25;

export async function searchOne(tour: Tour, { stored }: Loaded): Promise<void> {
  tell('The first two digits that were kept back. Each is searched in its own collection:');
  for (const [at, question] of tour.deal.questions.entries()) {
    const collection = stored[at]!;
    const { name } = collection;
    show(captionedLines(question.pixels, [`A ${question.label} the service has not seen.`, `The nearest in ${name}:`]));
    const ask = async (): Promise<Hit[]> => {
      const wanted = { query: question.pixels, k: NEIGHBOURS };
      const { results } = await tour.vouch.collection(name).search(wanted, tour.options);
      return results.map(({ id, score }) => ({ collection: name, id, score }));
    };
    await showHits(tour, await ask());
    await checkAndTime(ask, [collection], question);
  }
  tell('A score is the squared distance: 0 is an identical picture, and less is nearer.');
}

export async function searchBoth(tour: Tour, { stored }: Loaded): Promise<void> {
  const { puzzle } = tour.deal;
  show(captionedLines(puzzle.pixels, ['A 4, or is it a 9? One search of both collections,', 'on two shards, merged:']));
  const ask = async (): Promise<Hit[]> => (await searchPuzzle(tour)).results;
  const hits = await ask();
  await showHits(tour, hits);
  const found = new Set(hits.map(({ collection }) => collection));
  expect(found.size === COLLECTIONS.length, 'the nearest of both collections are all in one');
  await checkAndTime(ask, stored, puzzle);
}

/** Searches both collections for the digit that is like both. */
export const searchPuzzle = ({ vouch, options, deal }: Tour): Promise<MultiSearchResponse> =>
  vouch.searchMulti({ collections: [...COLLECTIONS], query: deal.puzzle.pixels, k: NEIGHBOURS }, options);

/** Shows the hits as pictures of the stored records. */
export async function showHits({ vouch, options }: Tour, hits: readonly Hit[]): Promise<void> {
  const records = await Promise.all(hits.map(({ collection, id }) => vouch.collection(collection).get(id, options)));
  const pictures = hits.map(({ collection, id, score }, at) => {
    const { vector, metadata } = records[at]!;
    return { pixels: vector, captions: [`a ${metadata?.label}`, `${collection} #${id}`, `score ${score.toFixed(3)}`] };
  });
  show(pictureLines(pictures));
}

async function checkAndTime(ask: () => Promise<Hit[]>, stored: readonly Stored[], question: Digit): Promise<void> {
  const hits = await ask();
  const timesMs: number[] = [];
  for (let i = 0; i < REPEATS; i++) {
    const startedMs = systemClock.monotonicMs();
    await ask();
    timesMs.push(systemClock.monotonicMs() - startedMs);
  }
  const medianMs = timesMs.sort((a, b) => a - b)[Math.floor(REPEATS / 2)]!;
  const count = stored.reduce((sum, { vectors }) => sum + vectors.size, 0);
  fact(
    'done',
    'time',
    `${durationText(medianMs)} over HTTP, the median of ${REPEATS}; ${counted(count, 'vector')} compared`,
  );

  const expected = nearest(stored, question.pixels, NEIGHBOURS);
  expect(isDeepStrictEqual(hits, expected), 'a plain loop over the same digits finds others, or other scores');
  fact('done', 'exact', 'a plain loop over the same digits finds the same, bit for bit');
  gap();
}
