/** Questions to a shard, and the form of their answers in a history. */

import { dequantise, normaliseInto, quantise, type Scale, shownDistances } from '../../../shared/fixedPoint.js';
import { toHex } from '../../../shared/hashing/hash.js';
import type { Results, ReadCall as ShardRead } from '../../../shared/protocol/calls.js';
import type { Wanted } from '../clients/calls/call.js';
import { Draws } from '../clients/choices/draws.js';
import type { Known } from '../clients/known.js';
import type { AnswerOf } from '../history/asked.js';
import type { StateCall } from '../history/proofs.js';
import type { GetCall } from '../history/records.js';
import type { SearchCall } from '../history/searches.js';
import type { SeededRandom } from '../random.js';

type Whom = 'owner' | 'any follower' | 'one follower';

export interface Question {
  readonly wanted: Wanted<StateCall | GetCall | SearchCall>;
  readonly call: ShardRead;
  /** Receiver: the owner of some epoch, any follower (eventual search), or one follower (strong search). */
  readonly whom: Whom;
  /** Converts the shard's result to the answer in the history. */
  answer(result: unknown): AnswerOf<StateCall> | AnswerOf<GetCall> | AnswerOf<SearchCall>;
}

const K = 12;

/**
 * Many questions ask for the state of everything, which every write changes. `hasFollowers`: whether the service has
 * any.
 */
export function anyQuestion(random: SeededRandom, collection: string, known: Known, hasFollowers: boolean): Question {
  const { dimension } = known.shape;
  const scale: Scale = known.shape.normalise ? 'unit' : 'plain';
  const chance = random.int(8);
  if (chance < 3) return stateQuestion(collection);
  if (chance < 4) return getQuestion(collection, known.anyRecord(random), scale);
  const query = new Draws(0, random).vector(dimension);
  const whom = chance === 4 ? 'owner' : chance === 5 ? 'any follower' : 'one follower';
  return searchQuestion({ collection, query, scale }, hasFollowers ? whom : 'owner');
}

const stateQuestion = (collection: string): Question => ({
  wanted: { op: 'state', collection },
  whom: 'owner',
  call: { op: 'proofState' },
  answer: (result) => {
    const { stateHash, stateRoot, chainHead, log } = result as Results['proofState'];
    const { sequence } = log;
    return { sequence, stateHash: toHex(stateHash), stateRoot: toHex(stateRoot), chainHead: toHex(chainHead) };
  },
});

const getQuestion = (collection: string, id: number, scale: Scale): Question => ({
  wanted: { op: 'get', collection, id },
  whom: 'owner',
  call: { op: 'get', id },
  answer: (result) => {
    const { vector, metadata } = result as Results['get'];
    const given: unknown = metadata === null ? null : JSON.parse(Buffer.from(metadata).toString());
    return { vector: dequantise(vector, scale), metadata: given };
  },
});

interface Searched {
  readonly collection: string;
  readonly query: readonly number[];
  readonly scale: Scale;
}

function searchQuestion({ collection, query, scale }: Searched, whom: Whom): Question {
  const isEventual = whom === 'any follower';
  const components = quantise(query);
  if (scale === 'unit') normaliseInto(query, components, 0);
  const bytes = new Uint8Array(components.buffer);
  return {
    wanted: { op: 'search', collection, query, k: K, color: null, isEventual, asOf: null },
    whom,
    call: { op: 'search', query: bytes, k: K, ...(isEventual ? { tellSequence: true } : {}) },
    answer: (result) => {
      const { ids, scores, sequence } = result as Results['search'];
      return { ids: [...numbersIn(ids)], scores: [...shownDistances(numbersIn(scores), scale)], sequence };
    },
  };
}

function numbersIn(bytes: Uint8Array): Float64Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return Float64Array.from({ length: bytes.length / 8 }, (_, i) => view.getFloat64(8 * i, true));
}
