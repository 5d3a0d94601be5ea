/**
 * Answers of the service held against the model. When exactly a request was taken in is not known, and ages hang on it:
 * the answer has to be that of some moment between its start and its end.
 */
import type { ModelHistory, Moment, Span } from './history.js';
import type { ModelCollection } from './records.js';
import { candidatesOf, type ModelHit, type ModelRequest, poolSizeOf, search } from './search.js';

/** With when it was asked, or with what ages are counted to. */
export interface Answered<H extends ModelHit = ModelHit> extends Span {
  readonly results: readonly H[];
}

const SHOWN = 3;

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** Throws where no moment of the request makes the model answer the same. */
export function assertAnswer<H extends ModelHit>(
  { results, fromMs, toMs }: Answered<H>,
  what: object,
  answerAt: (nowMs: number) => readonly H[],
): void {
  for (let nowMs = fromMs; nowMs <= toMs; nowMs++) if (isSame(results, answerAt(nowMs))) return;
  throw new Error(difference(results, answerAt(toMs), what));
}

/** Every hit, its place and its fields are what the model says. */
export function assertExact(collection: ModelCollection, request: ModelRequest, answered: Answered): void {
  assertAnswer(answered, { collection: collection.name, ...request }, (nowMs) => search(collection, request, nowMs));
}

/** Which state was searched, as it is answered beside the results. */
interface Past {
  readonly as_of_log_index: number;
  readonly as_of_timestamp: number | null;
  readonly as_of_state_hash: string;
}

/** The same of a past state, which is always searched exactly; and that it is that state. */
export function assertPast(
  history: ModelHistory,
  { request: named, logIndex, agesTo }: Moment,
  request: ModelRequest,
  { results, past }: Pick<Answered, 'results'> & { readonly past: Past },
): void {
  const { as_of_log_index, as_of_timestamp, as_of_state_hash } = past;
  const time = history.timeOf(logIndex);
  const stateHash = history.stateHash(logIndex, as_of_state_hash);
  if (as_of_log_index !== logIndex || as_of_state_hash !== stateHash || !isWithin(as_of_timestamp, time)) {
    const wanted = { logIndex, time, stateHash };
    const answered = { as_of_log_index, as_of_timestamp, as_of_state_hash };
    throw new Error(`${JSON.stringify(named)} is ${JSON.stringify(wanted)}, not ${JSON.stringify(answered)}`);
  }
  assertExact(history.at(logIndex), { ...request, ...named }, { results, ...agesTo });
}

function isWithin(timestamp: number | null, time: Span | undefined): boolean {
  if (timestamp === null || time === undefined) return timestamp === null && time === undefined;
  return timestamp >= Math.floor(time.fromMs / 1000) && timestamp <= Math.floor(time.toMs / 1000);
}

/**
 * What must hold of an answer by an index, which may miss records: it has k hits, or all that match; what it has is in
 * the order and with the fields that the model gives these. With a text, the order also depends on what was not
 * returned: only the hits themselves are checked.
 */
export function assertSound(collection: ModelCollection, request: ModelRequest, answered: Answered): void {
  const { k, query_text, rerank } = request;
  const isBlended = Boolean(query_text) && rerank !== false;
  const candidates = candidatesOf(collection, request, answered.toMs);
  // Nothing can be missed where all that match are looked at.
  if (candidates.length <= (isBlended ? poolSizeOf(k) : k)) {
    assertExact(collection, request, answered);
    return;
  }
  const found = new Set(answered.results.map(({ id }) => id));
  const what = { collection: collection.name, ...request };
  if (found.size !== k || answered.results.length !== k)
    throw new Error(`${found.size} hits, ${answered.results.length} with repeats, of ${JSON.stringify(what)}`);
  const among = collection.among(found);
  if (!isBlended) {
    assertAnswer(answered, what, (nowMs) => search(among, request, nowMs));
    return;
  }
  const { graph_rerank: _, ...unranked } = request;
  const byId = ({ id: a }: ModelHit, { id: b }: ModelHit): number => a - b;
  const results = answered.results.map(({ graph_distance: _hops, ...hit }) => hit).sort(byId);
  assertAnswer({ ...answered, results }, what, (nowMs) =>
    search(among, { ...unranked, rerank: false }, nowMs).sort(byId),
  );
}

/** The first place where they differ, and what stands there. */
function difference(results: readonly ModelHit[], wanted: readonly ModelHit[], what: object): string {
  const at = results.findIndex((hit, i) => !isSame(hit, wanted[i]));
  const from = at === -1 ? results.length : at;
  const shown = (hits: readonly ModelHit[]): string => JSON.stringify(hits.slice(from, from + SHOWN));
  return [
    `the service and the model differ from hit ${from} on, of ${results.length} and ${wanted.length}`,
    `  service ${shown(results)}`,
    `  model   ${shown(wanted)}`,
    `  request ${JSON.stringify(what)}`,
  ].join('\n');
}
