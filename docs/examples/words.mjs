/** Semantic search over words: `node words.mjs coffee airport` prints the words nearest to each of these. */
import { Vouch } from '@vouch/client';
import { DIMENSION, WORDS } from './glove/vectors.mjs';

process.once('uncaughtException', ({ message }) => console.error(message) ?? process.exit(1));

const vouch = new Vouch({ url: process.env.VOUCH_URL ?? 'http://127.0.0.1:8080', apiKey: process.env.VOUCH_KEY });
// Another collection than `glove` of the tour, whose records have no external ids.
await vouch.createCollection({ name: 'glove-words', dimension: DIMENSION, metric: 'squared_l2', normalise: true });
const glove = vouch.collection('glove-words');

// A word is its own external id, so a second run of the example replaces its records.
const records = [...WORDS].map(([word, values]) => ({ externalId: word, values, metadata: { letters: word.length } }));
await glove.insertMany(records, { batchSize: 250 });

for (const word of process.argv.slice(2)) {
  const { records: found } = await glove.getMany({ externalIds: [word] });
  if (found.length === 0) {
    console.log(`${word}: not among the ${WORDS.size} words`);
    continue;
  }
  // The query is the vector of the record, which is not among the hits.
  const { results } = await glove.search({ like: found[0].id, k: 5, metadataFilter: { letters: { gte: 4 } } });
  console.log(`${word}: ${results.map(({ externalId }) => externalId).join(', ')}`);
}
