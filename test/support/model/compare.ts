/**
 * Compares answers of the service with the model. Ages depend on the moment at which a request was processed, which is
 * unknown. So the answer must match some moment between its start and its end.
 */
import type { ModelHistory, Moment, Span } from './history.js';
import type { ModelCollection } from './records.js';
import { candidatesOf, type ModelHit, type ModelRequest, poolSizeOf, search } from './search.js';

/** An answer with its time span, or with the span that ages are counted to. */
export interface Answered<H extends ModelHit = ModelHit> extends Span {
  readonly results: readonly H[];
}

const SHOWN = 3;

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** Throws an Error if the model's answer differs at every moment of the request. */
export function assertAnswer<H extends ModelHit>(
  { results, fromMs, toMs }: Answered<H>,
  what: object,
  answerAt: (nowMs: number) => readonly H[],
): void {
  for (let nowMs = fromMs; nowMs <= toMs; nowMs++) if (isSame(results, answerAt(nowMs))) return;
  throw new Error(difference(results, answerAt(toMs), what));
}

/** Requires the hits, order and fields of the model. */
export function assertExact(collection: ModelCollection, request: ModelRequest, answered: Answered): void {
  assertAnswer(answered, { collection: collection.name, ...request }, (nowMs) => search(collection, request, nowMs));
}

/** The searched state, as the answer names it. */
interface Past {
  readonly as_of_log_index: number;
  readonly as_of_timestamp: number | null;
  readonly as_of_state_hash: string;
}

/** Requires the model's answer for a past state, which is always searched exactly, and the name of that state. */
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
 * Requires what holds for every answer of an index, which may miss records. It has k hits, or all matches, in the
 * model's order and with its fields. With a text, the order also depends on records not returned: then only the hits
 * are checked.
 */
export function assertSound(collection: ModelCollection, request: ModelRequest, answered: Answered): void {
  const { k, query_text, rerank } = request;
  const isBlended = Boolean(query_text) && rerank !== false;
  const candidates = candidatesOf(collection, request, answered.toMs);
  // If all matches are examined, none can be missing.
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
  const { graph_rerank: _, hybrid: _hybrid, ...unranked } = request;
  const byId = ({ id: a }: ModelHit, { id: b }: ModelHit): number => a - b;
  const results = answered.results.map(({ graph_distance: _hops, text_score: _text, ...hit }) => hit).sort(byId);
  assertAnswer({ ...answered, results }, what, (nowMs) =>
    search(among, { ...unranked, rerank: false }, nowMs).sort(byId),
  );
}

/** The first difference, with both values. */
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
