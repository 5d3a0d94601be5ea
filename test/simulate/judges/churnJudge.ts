/**
 * Judges collections that clients create and delete, by the answers. A request takes effect at some moment between its start
 * and its answer; without an answer, at any later moment or never. These must hold.
 *
 *   Deleted: everything from before the start of the deletion ends. Once the deletion is answered, even by "not found", no
 *   client finds the collection, and no record enters it.
 *
 *   Created: a collection that no deletion can have met is found, is not created again, and has all its records.
 *
 *   Erased: once a shred is answered, no search finds a record under its key, not even in the past, and no insert under it
 *   succeeds.
 *
 *   Limited: a project never has more collections than its limit, and is refused another only at that limit.
 */
import { type ChurnCall, type ChurnWanted, describeCall, type Listed } from '../churn/churnCalls.js';

export interface ChurnRules {
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
  readonly tag: number;
  readonly keyId: string | undefined;
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

export function judgeChurn(calls: readonly ChurnCall[], rules: ChurnRules): string[] {
  const judge = new ChurnJudge(calls, rules);
  return calls.flatMap((call) => judge.wrongIn(call).map((what) => `${what}\n    ${describeCall(call)}`));
}

class ChurnJudge {
  readonly #names = new Map<string, NameHistory>();
  readonly #byId = new Map<number, Made>();
  readonly #puts = new Map<number, Put>();
  /** The shreds of each key. */
  readonly #shreds = new Map<string, Span[]>();

  constructor(
    calls: readonly ChurnCall[],
    private readonly rules: ChurnRules,
  ) {
    for (const call of calls) this.#learn(call);
  }

  wrongIn({ wanted, outcome, startMs, endMs }: ChurnCall): string[] {
    const erased = outcome.kind === 'found' ? this.#wrongErased(outcome.tags, startMs) : [];
    // Another judge has the searches by alias.
    if (NAMELESS.has(wanted.op) && outcome.kind !== 'unexpected') return erased;
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
        const wrong = isThere ? erased : [...erased, `${wanted.op} of ${name}, which is gone`];
        if (wanted.op === 'insert' && this.#isShredded(wanted.keyId, startMs))
          wrong.push(`an insert under ${wanted.keyId}, which is shredded`);
        return outcome.kind === 'found' ? [...wrong, ...this.#wrongMarks(name, outcome.tags, startMs, endMs)] : wrong;
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
      case 'erased': {
        const { keyId } = wanted as Extract<ChurnWanted, { readonly op: 'insert' }>;
        return this.#mayBeShredded(keyId, endMs) ? [] : [`no call had shredded ${keyId}`];
      }
      case 'unexpected':
        return [`unexpected answer: ${outcome.why}`];
      case 'aliased':
      case 'unknown':
        return [];
    }
  }

  #learn({ wanted, outcome, startMs, endMs: answeredMs }: ChurnCall): void {
    if (wanted.op === 'shred') {
      const endMs = outcome.kind === 'done' ? answeredMs : Number.POSITIVE_INFINITY;
      this.#shreds.set(wanted.keyId, [...(this.#shreds.get(wanted.keyId) ?? []), { startMs, endMs }]);
    }
    if (wanted.op === 'list' || wanted.op === 'searchAlias' || wanted.op === 'searchPast' || wanted.op === 'shred')
      return;
    if (outcome.kind === 'full' || outcome.kind === 'aliased' || outcome.kind === 'erased') return;
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
        this.#puts.set(wanted.tag, { ...span, tag: wanted.tag, keyId: wanted.keyId });
        history.puts.push(this.#puts.get(wanted.tag)!);
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

  #wrongMarks(name: string, tags: readonly number[], startMs: number, endMs: number): string[] {
    const history = this.#of(name);
    const shown = new Set(tags);
    const isErased = ({ keyId }: Put): boolean => this.#mayBeShredded(keyId, endMs);
    const lost = history.puts.filter(
      (put) => !shown.has(put.tag) && !isErased(put) && history.isThere(put, startMs, endMs),
    );
    const wrong = lost.map(({ tag }) => `record ${tag} is lost`);
    for (const tag of shown) {
      const put = this.#puts.get(tag);
      if (put === undefined || put.startMs > endMs) wrong.push(`record ${tag} was not inserted`);
      else if (!history.puts.some((each) => each.tag === tag)) wrong.push(`record ${tag} is of another collection`);
      else if (history.isGone(put, startMs)) wrong.push(`record ${tag} is of a collection that is gone`);
    }
    if (shown.size < tags.length) wrong.push('a record is found twice');
    return wrong;
  }

  #wrongErased(tags: readonly number[], startMs: number): string[] {
    const shown = tags.filter((tag) => this.#isShredded(this.#puts.get(tag)?.keyId, startMs));
    return shown.map((tag) => `record ${tag} is found, and its key is shredded`);
  }

  /** Whether a shred of the key was answered by then. */
  #isShredded(keyId: string | undefined, byMs: number): boolean {
    return keyId !== undefined && (this.#shreds.get(keyId) ?? []).some(({ endMs }) => endMs <= byMs);
  }

  /** Whether a shred of the key began by then. */
  #mayBeShredded(keyId: string | undefined, byMs: number): boolean {
    return keyId !== undefined && (this.#shreds.get(keyId) ?? []).some(({ startMs }) => startMs <= byMs);
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

type Named = Extract<ChurnWanted, { readonly name: string }>;

/** Calls whose answers do not say whether a collection exists now. */
const NAMELESS: ReadonlySet<ChurnWanted['op']> = new Set(['searchAlias', 'searchPast', 'shred']);
