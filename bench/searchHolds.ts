/** Longest turn of the event loop during costly requests: common words, very many words, a heavy deletion. */
import { Graph } from '../shard/graph/graph.js';
import { TextIndex } from '../shard/text/textIndex.js';
import { type Clock, systemClock } from '../shared/clock.js';
import { nextTurn, Slice } from '../shared/scheduling/slice.js';
import { median, type Row } from './row.js';
import { generator } from './vectors.js';

const VOCABULARY = 20_000;
const WORDS_A_TEXT = 8;
const COMMON_WORDS = 4;
const MANY_WORDS = 5_000;
const POOL = 200;
const LINKED_NODES_SHARE = 1 / 10;
const ROUNDS = 5;

/** Measures the longest stretch between two rests. */
class Stretches {
  longestMs = 0;
  #startedMs = systemClock.monotonicMs();

  end(): void {
    this.longestMs = Math.max(this.longestMs, systemClock.monotonicMs() - this.#startedMs);
  }

  begin(): void {
    this.#startedMs = systemClock.monotonicMs();
  }
}

class MeasuredSlice extends Slice {
  constructor(
    clock: Clock,
    private readonly stretches: Stretches,
  ) {
    super(clock, Number.POSITIVE_INFINITY);
  }

  override async next(): Promise<void> {
    this.stretches.end();
    await super.next();
    this.stretches.begin();
  }
}

export async function benchHolds(records: number): Promise<Row[]> {
  const texts = new TextIndex((slot) => slot + 1);
  const random = generator(records);
  for (let slot = 0; slot < records; slot++) {
    const words = Array.from({ length: WORDS_A_TEXT }, () => `w${Math.floor(VOCABULARY * random() ** 3)}`);
    texts.add(slot, Buffer.from(words.join(' ')));
  }
  const queryOf = (words: number): string => Array.from({ length: words }, (_, word) => `w${word}`).join(' ');
  const row = (what: string, value: number): Row => ({
    part: 'search',
    name: `the event loop is held at most: ${what}`,
    value,
    unit: 'ms',
  });
  return [
    row(
      `best matches of the ${COMMON_WORDS} commonest words, ${records} texts`,
      await longestTurn(texts, queryOf(COMMON_WORDS)),
    ),
    row(`best matches of ${MANY_WORDS} words, ${records} texts`, await longestTurn(texts, queryOf(MANY_WORDS))),
    row(
      `a record with ${records * LINKED_NODES_SHARE} nodes is deleted`,
      await longestTurnOfDeletion(records * LINKED_NODES_SHARE),
    ),
  ];
}

/** The median of several queries' longest stretches. */
async function longestTurn(texts: TextIndex, query: string): Promise<number> {
  const slots = Uint32Array.from({ length: Math.min(POOL, texts.documents) }, (_, slot) => slot);
  const longest: number[] = [];
  while (longest.length < ROUNDS) {
    const stretches = new Stretches();
    const matches = texts.openQuery(query);
    try {
      await matches.best(POOL, undefined, slots, () => new MeasuredSlice(systemClock, stretches));
    } finally {
      matches.close();
    }
    stretches.end();
    longest.push(stretches.longestMs);
  }
  return median(longest);
}

/** The longest turn of a deletion, applied like in a commit. */
async function longestTurnOfDeletion(nodes: number): Promise<number> {
  const longest: number[] = [];
  while (longest.length < ROUNDS) {
    const graph = new Graph();
    for (let nodeId = 1; nodeId <= nodes; nodeId++)
      graph.apply({ type: 'addNode', sequence: nodeId, timeMs: 0, actor: null, nodeId, recordId: 1, kind: 0 });
    graph.root();
    await nextTurn();
    const stretches = new Stretches();
    const slice = new Slice(systemClock);
    graph.recordDeleted(1, nodes + 1);
    while (graph.hashSome()) {
      if (!slice.due) continue;
      stretches.end();
      await slice.next();
      stretches.begin();
    }
    stretches.end();
    longest.push(stretches.longestMs);
  }
  return median(longest);
}
