/** Finds the terms of the words in a call before it runs, in steps: the work itself needs all of them at once. */
import type { Filter, WordsTest } from '../../shared/model/filter.js';
import type { Call, TextQuery } from '../../shared/protocol/calls.js';
import { inSlices, type Slice, type Steps } from '../../shared/scheduling/slice.js';
import type { Analyser } from '../text/analyser.js';

/** Runs the call with the terms of its words, where these take long to find. */
export function withTerms(
  call: Call,
  { texts: { analyser } }: { readonly texts: { readonly analyser: Analyser } },
  slice: () => Slice,
  run: (call: Call) => Promise<unknown>,
): Promise<unknown> {
  return analyser.isStemming ? inSlices(analysedCall(call, analyser), slice()).then(run) : run(call);
}

interface Worded {
  readonly filter?: Filter;
  readonly text?: TextQuery;
}

function* analysedCall(call: Call, analyser: Analyser): Steps<Call> {
  switch (call.op) {
    case 'search':
    case 'listRecords':
    case 'countRecords':
    case 'facets':
      return yield* worded(call, analyser);
    case 'searchBatch': {
      const searches: (typeof call.searches)[number][] = [];
      for (const search of call.searches) searches.push(yield* worded(search, analyser));
      return { ...call, searches };
    }
    case 'deleteMany':
    case 'patchMany':
      return 'filter' in call.of ? { ...call, of: { filter: yield* analysedFilter(call.of.filter, analyser) } } : call;
    default:
      return call;
  }
}

function* worded<C extends Worded>(call: C, analyser: Analyser): Steps<C> {
  const { filter, text } = call;
  return {
    ...call,
    ...(filter && { filter: yield* analysedFilter(filter, analyser) }),
    ...(text && { text: { ...text, terms: yield* analyser.inSteps(text.query) } }),
  };
}

function* analysedFilter(filter: Filter, analyser: Analyser): Steps<Filter> {
  switch (filter.op) {
    case 'and':
    case 'or': {
      const of: Filter[] = [];
      for (const part of filter.of) of.push(yield* analysedFilter(part, analyser));
      return { ...filter, of };
    }
    case 'not':
      return { ...filter, of: yield* analysedFilter(filter.of, analyser) };
    case 'test':
      return filter.test.kind === 'words' ? { ...filter, test: yield* analysedTest(filter.test, analyser) } : filter;
    case 'text':
      return { ...filter, test: yield* analysedTest(filter.test, analyser) };
  }
}

function* analysedTest(test: WordsTest, analyser: Analyser): Steps<WordsTest> {
  return { ...test, terms: yield* analyser.inSteps(test.value) };
}
