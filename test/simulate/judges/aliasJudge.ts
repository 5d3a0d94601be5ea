/**
 * Judges the moves of an alias by the answers of its clients. A move takes effect at some moment between its start and its
 * answer; without an answer, at any later moment or never. A search through the alias finds records of one collection, at which
 * the alias may be at some moment of the search. A search that begins after an answered move never finds those of the former
 * collection. The collection of an alias is not deleted.
 */
import { AliasMoves, type Move } from '../../soak/checker/aliasMoves.js';
import { type ChurnCall, describeCall } from '../churn/churnCalls.js';

export function judgeAlias(calls: readonly ChurnCall[]): string[] {
  const judge = new AliasJudge(calls);
  return calls.flatMap((call) => judge.wrongIn(call).map((what) => `${what}\n    ${describeCall(call)}`));
}

class AliasJudge {
  readonly #moves: AliasMoves;
  /** Collection of each record, by the record's tag. */
  readonly #names = new Map<number, string>();

  constructor(calls: readonly ChurnCall[]) {
    const moves = calls.flatMap(({ wanted, outcome, startMs, endMs }): Move[] => {
      if (wanted.op !== 'move') return [];
      const isUndone = outcome.kind === 'absent';
      const isAnswered = isUndone || outcome.kind === 'done';
      return [{ name: wanted.name, startMs, endMs: isAnswered ? endMs : Number.POSITIVE_INFINITY, isUndone }];
    });
    this.#moves = new AliasMoves(moves);
    for (const { wanted } of calls) if (wanted.op === 'insert') this.#names.set(wanted.tag, wanted.name);
  }

  /** Returns what is wrong in the answer to a call. */
  wrongIn({ wanted, outcome, startMs, endMs }: ChurnCall): string[] {
    const possible = this.#moves.possible(startMs, endMs);
    const isCertain =
      this.#moves.isMovedBy(startMs) &&
      possible.every((move) => !move.isUndone && move.endMs < Number.POSITIVE_INFINITY);
    const names = new Set(possible.map(({ name }) => name));
    if (wanted.op === 'delete' && outcome.kind === 'aliased')
      return names.has(wanted.name) ? [] : [`${wanted.name} is kept, and has no alias`];
    if (wanted.op === 'delete' && outcome.kind === 'done')
      return isCertain && names.size === 1 && names.has(wanted.name)
        ? [`${wanted.name} is deleted, and has the alias`]
        : [];
    if (wanted.op !== 'searchAlias') return [];
    // A move without an answer may have left the alias at a collection that was deleted meanwhile.
    if (outcome.kind === 'absent') return isCertain ? ['the alias leads to no collection'] : [];
    return outcome.kind === 'found' ? this.#wrongTags(outcome.tags, names) : [];
  }

  #wrongTags(tags: readonly number[], names: ReadonlySet<string>): string[] {
    const shown = new Set(tags.map((tag) => this.#names.get(tag)));
    if (names.size === 0) return ['the alias was never moved anywhere'];
    if (shown.size > 1) return ['the alias leads to several collections'];
    return [...shown].filter((name) => !names.has(name!)).map((name) => `the alias leads to ${name}`);
  }
}
