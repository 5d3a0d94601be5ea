/**
 * Holds every answer about a collection against what the log says it was. A log puts all writes of a collection in one
 * order, so this is exact: a read may show any state from the latest that anybody had been shown when it began (by an
 * answered write or by a read) to the last event whose call had begun when it ended. Of those it must show one; giving
 * each read the earliest it can have shown asks the least of the reads after it.
 */
import { unreachable } from '../../../shared/errors.js';
import type {
  Call,
  GetCall,
  ReadCall,
  RemoveCall,
  SearchCall,
  StateCall,
  TimelineCall,
  UpdateCall,
} from '../history.js';
import { isWrite } from '../history.js';
import { type CollectionLog, entryAt, stateHashAt } from './log.js';
import { Model } from './model.js';
import { Begun, type Shown, ShownBy, ShownSoFar } from './realTime.js';
import type { Violations } from './violations.js';
import type { Moments } from './writes.js';

/** A read, or a change that was refused because its record was not there. */
type Question = ReadCall | RemoveCall | UpdateCall;

const TIMELINE_TYPES: Readonly<Record<string, string>> = {
  insert: 'insert',
  softDelete: 'soft_delete',
  delete: 'delete',
  updateMetadata: 'update_metadata',
};

export class ReadCheck {
  readonly #model: Model;
  readonly #begun: Begun;
  readonly #shown: Shown[] = [];

  constructor(
    private readonly log: CollectionLog,
    private readonly moments: Moments,
    private readonly violations: Violations,
    /** An eventual answer may be this much behind. */
    private readonly staleMs: number,
  ) {
    this.#model = new Model(log);
    this.#begun = new Begun(moments);
    moments.answeredMs.forEach((atMs, sequence) => {
      if (atMs < Number.POSITIVE_INFINITY) this.#shown.push({ atMs, sequence });
    });
  }

  /** Returns how many answers were checked. */
  check(calls: readonly Call[]): number {
    const questions = calls.filter(isQuestion).sort((a, b) => a.startMs - b.startMs);
    const eventual = questions.filter(isEventual);
    for (const { endMs, outcome } of eventual)
      if (outcome.kind === 'ok' && outcome.answer.sequence !== undefined)
        this.#shown.push({ atMs: endMs, sequence: outcome.answer.sequence });
    this.#checkStrong(questions.filter((call) => !isEventual(call)));
    this.#checkEventual(eventual);
    return questions.length;
  }

  #checkStrong(questions: readonly Question[]): void {
    const soFar = new ShownSoFar();
    for (const shown of this.#shown) soFar.add(shown);
    for (const question of questions) {
      const floor = soFar.floor(question.startMs);
      const ceiling = this.#begun.ceiling(question.endMs);
      const sequence = this.#firstTrue(question, floor, ceiling, false);
      if (sequence === undefined) this.#explain(question, floor, ceiling);
      else {
        soFar.add({ atMs: question.endMs, sequence });
        this.#shown.push({ atMs: question.endMs, sequence });
      }
    }
  }

  #checkEventual(calls: readonly SearchCall[]): void {
    const shown = new ShownBy(this.#shown);
    const { collection } = this.log;
    for (const call of calls) {
      if (call.outcome.kind !== 'ok') continue;
      const { answer } = call.outcome;
      const { sequence } = answer;
      const floor = shown.floor(call.startMs - this.staleMs);
      const ceiling = this.#begun.ceiling(call.endMs);
      if (sequence === undefined) this.violations.add('wrong answer', collection, 'it tells no sequence', call);
      else if (sequence > ceiling) this.violations.add('read of the future', collection, latest(ceiling), call);
      else if (sequence < floor)
        this.violations.add(
          'eventual answer too old',
          collection,
          `event ${floor} was known ${this.staleMs} ms before`,
          call,
        );
      else if (this.#model.firstFinding(answer, call, sequence, sequence, true) === undefined)
        this.violations.add('wrong search result', collection, `not what is found at ${sequence}`, call);
    }
  }

  /** The first sequence of the range at which the answer is true. */
  #firstTrue(question: Question, from: number, to: number, anywhere: boolean): number | undefined {
    const { outcome, op } = question;
    if (outcome.kind === 'absent' && 'id' in question)
      return this.#model.firstAbsent(question.id, from, to, op !== 'delete');
    if (outcome.kind !== 'ok') return undefined;
    switch (question.op) {
      case 'get':
        return this.#model.firstShowing(answerOf(question), question, from, to);
      case 'search':
        return this.#model.firstFinding(answerOf(question), question, from, to, anywhere);
      case 'state':
        return this.#isState(question) ? within(answerOf(question).sequence, from, to) : undefined;
      case 'timeline':
        return this.#isTimeline(question) ? within(answerOf(question).total, from, to) : undefined;
      case 'softDelete':
      case 'delete':
      case 'updateMetadata':
        return undefined;
      default:
        return unreachable(question);
    }
  }

  #isState(call: StateCall): boolean {
    const { sequence, stateRoot, stateHash, chainHead } = answerOf(call);
    const at = sequence === 0 ? this.log.genesis : entryAt(this.log, sequence);
    const replayed = this.log.stateRoots.get(sequence);
    return (
      at?.chainHead.toString('hex') === chainHead &&
      stateHashAt(this.log, sequence, stateRoot) === stateHash &&
      (replayed === undefined || replayed === stateRoot)
    );
  }

  #isTimeline(call: TimelineCall): boolean {
    const { total, events } = answerOf(call);
    const { after, limit } = call;
    return (
      events.length === Math.max(0, Math.min(limit, total - after)) &&
      events.every(({ sequence, type, recordId }, i) => {
        const event = entryAt(this.log, after + 1 + i)?.event;
        return sequence === after + 1 + i && event?.recordId === recordId && TIMELINE_TYPES[event.type] === type;
      })
    );
  }

  /** Where else the answer would have been true tells what is wrong with it. */
  #explain(question: Question, floor: number, ceiling: number): void {
    const { collection, entries } = this.log;
    const tell = (kind: Parameters<Violations['add']>[0], what: string): void => {
      const known = this.moments.calls[floor];
      this.violations.add(kind, collection, what, question, ...(known === undefined ? [] : [known]));
    };
    const before = this.#firstTrue(question, 0, floor - 1, true);
    const after = this.#firstTrue(question, ceiling + 1, entries.length, true);
    const may = `it may show ${floor} to ${ceiling}`;
    if (before !== undefined) tell('stale read', `true at ${before}, while ${may}`);
    else if (after !== undefined) tell('read of the future', `true at ${after}, while ${may}`);
    else tell(question.op === 'search' ? 'wrong search result' : 'wrong answer', `true at no time; ${may}`);
  }
}

const latest = (ceiling: number): string => `the log cannot have been beyond ${ceiling}`;

function isQuestion(call: Call): call is Question {
  if (call.outcome.kind === 'absent') return 'id' in call;
  return !isWrite(call) && call.outcome.kind === 'ok';
}

const isEventual = (call: Question): call is SearchCall => call.op === 'search' && call.isEventual;

const within = (sequence: number, from: number, to: number): number | undefined =>
  sequence >= from && sequence <= to ? sequence : undefined;

function answerOf<C extends GetCall | SearchCall | StateCall | TimelineCall>(
  call: C,
): Extract<C['outcome'], { kind: 'ok' }>['answer'] {
  if (call.outcome.kind !== 'ok') throw new Error('the call was not answered');
  return call.outcome.answer;
}
