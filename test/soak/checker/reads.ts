/**
 * Checks every answer about a collection against its log. The log orders all writes of a collection, so the check is
 * exact. Answers to writes and reads show states. A read may show any state from the latest one shown before it began,
 * to the last event whose call began before it ended. Each read is given the earliest state that fits, which demands
 * the least of later reads.
 */
import type { AccessEntry } from '../access/accessEntries.js';
import { answerOf } from '../history/asked.js';
import type { PartCall, SearchCall } from '../history/searches.js';
import { type CollectionLog, stateHashAt } from './log.js';
import { Begun, type Shown, ShownBy, ShownSoFar } from './realTime.js';
import type { Recall } from './recall.js';
import { type Question, Truth } from './truth.js';
import type { ViolationKind, Violations } from './violations.js';
import type { Moments } from './writes.js';

type Search = SearchCall | PartCall;
type PastSearch = SearchCall & { readonly asOf: number };

export interface ReadCheckOptions {
  /** Greatest staleness of an eventual answer. */
  readonly staleMs: number;
  /** Recall of a collection that may have an index; undefined: its searches are exact. */
  readonly recall: Recall | undefined;
}

export class ReadCheck {
  readonly #truth: Truth;
  readonly #begun: Begun;
  readonly #shown: Shown[] = [];
  readonly #byRequest = new Map<string, Question>();

  constructor(
    private readonly log: CollectionLog,
    private readonly moments: Moments,
    private readonly violations: Violations,
    private readonly options: ReadCheckOptions,
  ) {
    this.#truth = new Truth(log, options.recall !== undefined);
    this.#begun = new Begun(moments);
    moments.answeredMs.forEach((atMs, sequence) => {
      if (atMs < Number.POSITIVE_INFINITY) this.#shown.push({ atMs, sequence });
    });
  }

  /** `questions`: answered ones. */
  check(questions: readonly Question[]): void {
    for (const call of questions) if (call.requestId !== undefined) this.#byRequest.set(call.requestId, call);
    const inOrder = [...questions].sort((a, b) => a.startMs - b.startMs);
    const eventual = inOrder.filter(isEventual);
    for (const { endMs, outcome } of eventual)
      if (outcome.kind === 'ok' && outcome.answer.sequence !== undefined)
        this.#shown.push({ atMs: endMs, sequence: outcome.answer.sequence });
    this.#checkStrong(inOrder.filter((call) => !isEventual(call) && !isPast(call)));
    this.#checkEventual(eventual);
    for (const call of inOrder.filter(isPast)) this.#checkPast(call);
  }

  /** Whether a strong search shows a state that it may show. Call it after `check`. */
  mayShow(search: SearchCall): boolean {
    const [floor, ceiling] = [new ShownBy(this.#shown).floor(search.startMs), this.#begun.ceiling(search.endMs)];
    return this.#truth.first(search, floor, ceiling, true) !== undefined;
  }

  /** Compares a read with the state that its entry of the access log names. Call it after `check`. */
  checkEntry({ entry, actor, since, sequence }: AccessEntry): void {
    const read = this.#byRequest.get(actor.request_id);
    if (read === undefined || sequence === undefined) return;
    if (this.#truth.first(read, since ?? sequence, sequence, true) === undefined)
      this.violations.add('wrong access log', this.log.collection, `entry ${entry} names event ${sequence}`, read);
  }

  #checkStrong(questions: readonly Question[]): void {
    const soFar = new ShownSoFar();
    for (const shown of this.#shown) soFar.add(shown);
    for (const question of questions) {
      const floor = soFar.floor(question.startMs);
      const ceiling = this.#begun.ceiling(question.endMs);
      const sequence = this.#truth.first(question, floor, ceiling);
      if (sequence === undefined) this.#explain(question, floor, ceiling);
      else {
        soFar.add({ atMs: question.endMs, sequence });
        this.#shown.push({ atMs: question.endMs, sequence });
        if (isSearch(question)) this.#count(question, sequence);
      }
    }
  }

  #checkEventual(calls: readonly Search[]): void {
    const shown = new ShownBy(this.#shown);
    const { staleMs } = this.options;
    for (const call of calls) {
      const { sequence } = answerOf(call);
      const floor = shown.floor(call.startMs - staleMs);
      const ceiling = this.#begun.ceiling(call.endMs);
      if (sequence === undefined) this.#violate('wrong answer', 'it names no sequence', call);
      else if (sequence > ceiling) this.#violate('read of the future', latest(ceiling), call);
      else if (sequence < floor)
        this.#violate('eventual answer too old', `event ${floor} was known ${staleMs} ms before`, call);
      else if (this.#truth.isFoundAt(call, sequence)) this.#count(call, sequence);
      else this.#violate('wrong search result', this.#notFoundAt(call, sequence), call);
    }
  }

  /** A search of the past shows nothing about the present state, except that the log had reached that event. */
  #checkPast(call: PastSearch): void {
    const { asOf } = call;
    const { sequence, stateHash } = answerOf(call);
    const ceiling = this.#begun.ceiling(call.endMs);
    const root = this.log.stateRoots.get(asOf);
    if (sequence !== asOf) this.#violate('wrong answer', `it is of ${sequence}`, call);
    else if (asOf > ceiling) this.#violate('read of the future', latest(ceiling), call);
    else if (root !== undefined && stateHashAt(this.log, asOf, root) !== stateHash)
      this.#violate('wrong answer', 'it names another state hash', call);
    else if (!this.#truth.isFoundAt(call, asOf, true))
      this.#violate('wrong search result', this.#notFoundAt(call, asOf), call);
  }

  #notFoundAt(call: Search, sequence: number): string {
    const truth = this.#truth.first(call, 0, this.log.entries.length, true);
    return `not the hits at ${sequence}, ${truth === undefined ? 'nor at any other time' : `but those at ${truth}`}`;
  }

  #count(search: Search, sequence: number): void {
    const { recall } = this.options;
    const { ids } = answerOf(search);
    // Hits over several collections end once they are enough together, so they give no recall per collection.
    if (recall === undefined || search.op !== 'search') return;
    recall.add(ids, this.#truth.model.nearest(search.query, search.k, search.color, sequence), sequence);
  }

  /** Searches all sequences at which the answer was true, to explain the violation. */
  #explain(question: Question, floor: number, ceiling: number): void {
    const known = this.moments.calls[floor];
    const violate = (kind: ViolationKind, what: string): void =>
      this.violations.add(kind, this.log.collection, what, question, ...(known === undefined ? [] : [known]));
    const before = this.#truth.first(question, 0, floor - 1, true);
    const after = this.#truth.first(question, ceiling + 1, this.log.entries.length, true);
    const may = `it may show ${floor} to ${ceiling}`;
    if (before !== undefined) violate('stale read', `true at ${before}, while ${may}`);
    else if (after !== undefined) violate('read of the future', `true at ${after}, while ${may}`);
    else violate(isSearch(question) ? 'wrong search result' : 'wrong answer', `true at no time; ${may}`);
  }

  #violate(kind: ViolationKind, what: string, call: Search): void {
    this.violations.add(kind, this.log.collection, what, call);
  }
}

const latest = (ceiling: number): string => `the log cannot have been beyond ${ceiling}`;

const isSearch = (call: Question): call is Search => call.op === 'search' || call.op === 'partOfMultiSearch';
const isPast = (call: Question): call is PastSearch => call.op === 'search' && call.asOf !== null;
const isEventual = (call: Question): call is Search => isSearch(call) && call.isEventual;
