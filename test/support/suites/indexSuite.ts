/** What every kind of index promises. One call of `indexSuite` gives a kind all of these tests. */

import { collectionTests, Rigs } from './indexCollection.js';
import { generationTests } from './indexGenerations.js';
import { kindTests } from './indexKind.js';
import type { IndexSubject, KindSubject } from './indexSubject.js';

/** Exact search has no index: it is tested as a collection's alone. */
export function indexSuite(name: string, subject: IndexSubject): void {
  describe(`index: ${name}`, () => {
    if (isKind(subject)) describe('over rows', () => kindTests(subject));
    describe('of a collection', () => {
      const rigs = new Rigs(subject);
      collectionTests(rigs);
      if (isKind(subject)) generationTests(rigs);
    });
  });
}

const isKind = (subject: IndexSubject): subject is KindSubject => subject.kind !== 'brute';
