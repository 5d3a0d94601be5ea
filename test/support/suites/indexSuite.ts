/** Tests that every kind of index must pass. One call of `indexSuite` runs them all over a kind. */

import { collectionTests, Rigs } from './indexCollection.js';
import { generationTests, searchedGenerationTests } from './indexGenerations.js';
import { kindTests } from './indexKind.js';
import { type IndexSubject, type KindSubject, SCALES } from './indexSubject.js';

/** Exact search has no index, so it is tested only as a collection's. */
export function indexSuite(name: string, subject: IndexSubject): void {
  describe(`index: ${name}`, () => {
    // Rows without a collection are tested only for an index without threads and of one graph.
    if (isKind(subject) && subject.threads === undefined && subject.graphBytesMax === undefined)
      for (const [form, scale] of Object.entries(SCALES))
        describe(`over rows with ${form}`, () => kindTests(subject, scale));
    describe('in a collection', () => {
      const rigs = new Rigs(subject);
      collectionTests(rigs);
      if (!isKind(subject)) return;
      searchedGenerationTests(rigs);
      if (subject.threads === undefined) generationTests(rigs);
    });
  });
}

const isKind = (subject: IndexSubject): subject is KindSubject => subject.kind !== 'brute';
