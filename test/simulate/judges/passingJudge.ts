/**
 * Judges collections that come and go by the answers of their clients. A request may have taken effect at any moment
 * until its answer; without an answer, at any moment since.
 * - A deletion ends everything from before its start. Once it is answered, even with "not found", it is final: no
 *   client sees the thing, and no record enters it.
 * - A created thing that no deletion can have met is there. It is found, not created again, and has every record.
 * - A project never has more collections than its limit, and a refusal for that limit is true.
 */
import { describeCall, type Listed, type PassingCall, type PassingWanted } from '../passing/passingCalls.js';

export interface PassingRules {
  /** Largest number of collections of the project. */
  readonly collectionsMax: number;
  /** Each coordinator except one may create one too many, if they do so at the same moment. */
  readonly coordinators: number;
  /** Greatest age of a list or a count, in milliseconds. */
  readonly staleMs: number;
}

/** Time span in which something appeared or vanished at some moment. */
interface Span {
  readonly startMs: number;
  /** Infinite without an answer. */
  readonly endMs: number;
}

interface Made extends Span {
  readonly name: string;
  /** Undefined without an answer. */
  readonly id: number | undefined;
}

interface Put extends Span {
  readonly mark: number;
}

/** Everything known about one name. */
class NameHistory {
  readonly made: Made[] = [];
  readonly deletions: Span[] = [];
  /** Answered deletions, also those with "not found": when one ends, everything from before its start is gone. */
  readonly ends: Span[] = [];
  readonly puts: Put[] = [];
  /** In each span, it was there at some moment. */
  readonly seen: Span[] = [];

  /** Whether a deletion was answered by `byMs` that began after the thing was there. */
  isGone({ endMs }: Span, byMs: number): boolean {
    return this.ends.some((end) => end.startMs >= endMs && end.endMs <= byMs);
  }

  /** Whether it was there before `fromMs`, and no deletion can have met it until `untilMs`. */
  isThere(thing: Span, fromMs: number, untilMs = fromMs): boolean {
    if (thing.endMs > fromMs) return false;
    return !this.deletions.some(({ startMs, endMs }) => endMs > thing.startMs && startMs < untilMs);
  }

  /** Collections that may have existed at some moment of that time. */
  possible(fromMs: number, untilMs: number): Made[] {
    return this.made.filter((each) => each.startMs < untilMs && !this.isGone(each, fromMs));
  }
}

export function judgePassing(calls: readonly PassingCall[], rules: PassingRules): string[] {
  const judge = new PassingJudge(calls, rules);
  return calls.flatMap((call) => judge.wrongIn(call).map((what) => `${what}\n    ${describeCall(call)}`));
}

class PassingJudge {
  readonly #names = new Map<string, NameHistory>();
  readonly #byId = new Map<number, Made>();
  readonly #puts = new Map<number, Put>();

  constructor(
    calls: readonly PassingCall[],
    private readonly rules: PassingRules,
  ) {
    for (const call of calls) this.#learn(call);
  }

  wrongIn({ wanted, outcome, startMs, endMs }: PassingCall): string[] {
    // Another judge has the searches by alias.
    if (wanted.op === 'searchAlias' && outcome.kind !== 'unexpected') return [];
    switch (outcome.kind) {
      case 'created':
        return [
          ...this.#wrongMade(outcome, wanted as Named, startMs, endMs),
          ...(outcome.isNew ? this.#wrongCount(endMs) : []),
        ];
      case 'done':
      case 'found': {
        const { name } = wanted as Named;
        const isThere = this.#of(name).possible(startMs, endMs).length > 0;
        const wrong = isThere ? [] : [`${wanted.op} of ${name}, which is gone`];
        return outcome.kind === 'found' ? [...wrong, ...this.#wrongMarks(name, outcome.marks, startMs, endMs)] : wrong;
      }
      case 'listed':
        return this.#wrongList(outcome.collections, startMs, endMs);
      case 'absent': {
        const history = this.#of((wanted as Named).name);
        const there = history.seen.find((each) => history.isThere(each, startMs, endMs));
        return there === undefined ? [] : [`${(wanted as Named).name} is lost`];
      }
      case 'full':
        return wanted.op === 'create' ? this.#wrongRefusal(startMs, endMs) : [];
      case 'unexpected':
        return [`unexpected answer: ${outcome.why}`];
      case 'aliased':
      case 'unknown':
        return [];
    }
  }

  #learn({ wanted, outcome, startMs, endMs: answeredMs }: PassingCall): void {
    if (wanted.op === 'list' || wanted.op === 'searchAlias') return;
    if (outcome.kind === 'full' || outcome.kind === 'aliased') return;
    const isEnd = wanted.op === 'delete' && (outcome.kind === 'done' || outcome.kind === 'absent');
    if (isEnd) this.#of(wanted.name).ends.push({ startMs, endMs: answeredMs });
    if (outcome.kind === 'absent') return;
    const isAnswered = outcome.kind === 'created' || outcome.kind === 'done';
    const span = { startMs, endMs: isAnswered ? answeredMs : Number.POSITIVE_INFINITY };
    const history = this.#of(wanted.name);
    if (isAnswered && wanted.op !== 'delete') history.seen.push(span);
    switch (wanted.op) {
      case 'create':
        if (outcome.kind === 'created' && !outcome.isNew) break;
        this.#made(history, { ...span, name: wanted.name, id: outcome.kind === 'created' ? outcome.id : undefined });
        break;
      case 'delete':
        history.deletions.push(span);
        break;
      case 'insert':
        history.puts.push({ ...span, mark: wanted.mark });
        this.#puts.set(wanted.mark, { ...span, mark: wanted.mark });
        break;
      default:
    }
  }

  #made(history: NameHistory, made: Made): void {
    history.made.push(made);
    if (made.id !== undefined) this.#byId.set(made.id, made);
  }

  #wrongMade(
    { id, isNew }: { readonly id: number; readonly isNew: boolean },
    { name }: Named,
    startMs: number,
    endMs: number,
  ): string[] {
    const history = this.#of(name);
    if (!isNew) {
      const isGone = this.#isGone(id, startMs) || history.possible(startMs, endMs).length === 0;
      return isGone ? [`collection ${id} is answered, and is gone`] : [];
    }
    return history.seen.some((each) => history.isThere(each, startMs, endMs))
      ? [`${name} is made again, and was there`]
      : [];
  }

  /** The collections that must exist now are within the limit. */
  #wrongCount(atMs: number): string[] {
    let there = 0;
    for (const history of this.#names.values()) if (history.seen.some((each) => history.isThere(each, atMs))) there++;
    const { collectionsMax, coordinators } = this.rules;
    return there > collectionsMax + coordinators - 1 ? [`the project has ${there} collections`] : [];
  }

  #wrongRefusal(startMs: number, endMs: number): string[] {
    const { collectionsMax, staleMs } = this.rules;
    let most = 0;
    for (const history of this.#names.values()) most += history.possible(startMs - staleMs, endMs).length;
    return most < collectionsMax ? [`refused with ${most} collections`] : [];
  }

  #wrongMarks(name: string, marks: readonly number[], startMs: number, endMs: number): string[] {
    const history = this.#of(name);
    const shown = new Set(marks);
    const lost = history.puts.filter((put) => !shown.has(put.mark) && history.isThere(put, startMs, endMs));
    const wrong = lost.map(({ mark }) => `record ${mark} is lost`);
    for (const mark of shown) {
      const put = this.#puts.get(mark);
      if (put === undefined || put.startMs > endMs) wrong.push(`record ${mark} was not inserted`);
      else if (!history.puts.some((each) => each.mark === mark)) wrong.push(`record ${mark} is of another collection`);
      else if (history.isGone(put, startMs)) wrong.push(`record ${mark} is of a collection that is gone`);
    }
    if (shown.size < marks.length) wrong.push('a record is found twice');
    return wrong;
  }

  #wrongList(listed: readonly Listed[], startMs: number, endMs: number): string[] {
    const sinceMs = startMs - this.rules.staleMs;
    const ids = new Set(listed.map(({ id }) => id));
    const gone = listed.filter(({ id }) => this.#isGone(id, sinceMs));
    const missing = [...this.#byId.values()].filter((made) => {
      const isLasting = this.#of(made.name).isThere(made, sinceMs, endMs);
      return isLasting && !ids.has(made.id!);
    });
    return [
      ...gone.map(({ id }) => `collection ${id} is listed, and is gone`),
      ...missing.map(({ id }) => `collection ${id} is not listed`),
    ];
  }

  #isGone(id: number, byMs: number): boolean {
    const made = this.#byId.get(id);
    return made !== undefined && this.#of(made.name).isGone(made, byMs);
  }

  #of(name: string): NameHistory {
    let history = this.#names.get(name);
    if (history === undefined) {
      history = new NameHistory();
      this.#names.set(name, history);
    }
    return history;
  }
}

type Named = Extract<PassingWanted, { readonly name: string }>;
