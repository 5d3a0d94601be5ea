/** The judge of replicas of one log in a simulated world: equal ones, and one that differs. */
import { expect } from 'chai';
import { VectorBlocks } from '../../../../../shard/kernel/vectorBlocks.js';
import { VectorMemory } from '../../../../../shard/kernel/vectorMemory.js';
import { CollectionState } from '../../../../../shard/state/collectionState.js';
import { Journal } from '../../../../../shard/state/journal.js';
import { systemClock } from '../../../../../shared/clock.js';
import { EMPTY_LOG } from '../../../../../shared/log/chain.js';
import { type Event, genesisOf } from '../../../../../shared/log/event.js';
import type { EventLog, StoredFrame } from '../../../../../shared/log/eventLog.js';
import { buildFrame } from '../../../../../shared/log/frame.js';
import { nextTurn } from '../../../../../shared/scheduling/slice.js';
import { Findings } from '../../../../simulate/judges/findings.js';
import { StatesJudge } from '../../../../simulate/judges/statesJudge.js';
import { World } from '../../../../simulate/world/world.js';
import { configOf } from '../../../../support/rigs/engine.js';

const config = configOf(1);
const NO_LOG = {} as EventLog;
const RECORDS = 3;

/** Frames of one record each. */
async function writtenFrames(): Promise<StoredFrame[]> {
  const frames: StoredFrame[] = [];
  let end = EMPTY_LOG;
  for (let sequence = 1; sequence <= RECORDS; sequence++) {
    const dated = { sequence, timeMs: config.createdAtMs, actor: null };
    const vector = new Uint8Array(4 * config.dimension).fill(sequence);
    const described = { tag: 0, requestId: null, vector, metadata: null, text: null, externalId: null };
    const events: Event[] = [{ type: 'insert', ...dated, recordId: sequence, ...described }];
    if (sequence === 1) events.unshift(genesisOf(config));
    const frame = await buildFrame(events, end, sequence, nextTurn);
    frames.push({ position: sequence, bytes: frame.bytes });
    end = frame.end;
  }
  return frames;
}

interface Replica {
  readonly state: CollectionState;
  readonly journal: Journal;
}

function openReplica(): Replica {
  const state = new CollectionState(config, new VectorBlocks(new VectorMemory(), config.dimension), 10);
  return { state, journal: new Journal(config, NO_LOG, state, { clock: systemClock, lateMs: 0 }) };
}

/** Findings if `change` alters the second replica before it applies the last frame. */
async function foundWith(change: (replica: Replica) => void): Promise<readonly string[]> {
  const world = new World(1);
  const findings = new Findings(world);
  const judge = new StatesJudge(findings, undefined);
  const frames = await writtenFrames();
  await world.run(() =>
    world.outside(async () => {
      const [one, other] = [openReplica(), openReplica()];
      for (const frame of frames) await one.journal.take(frame);
      for (const frame of frames.slice(0, -1)) await other.journal.take(frame);
      change(other);
      await other.journal.take(frames.at(-1)!);
      judge.over([], []);
    }),
  );
  return findings.all;
}

describe('the judge of states', () => {
  it('reports nothing if replicas are equal', async () => {
    expect(await foundWith(() => undefined)).to.deep.equal([]);
  });

  it('reports a replica with another state hash', async () => {
    const found = await foundWith(({ state }) => state.tree.change(0, new Uint8Array(32).fill(1), RECORDS - 1));
    expect(found).to.include('a judge found: world has another state hash of collection 1 after event 3 than world');
  });

  it('reports a difference that the state hash does not cover', async () => {
    const found = await foundWith(({ state }) => state.requests.add('of no call', { recordId: 1, sequence: 1 }));
    expect(found).to.deep.equal(['a judge found: world has another state of collection 1 after event 3 than world']);
  });

  it('reports a record that has changed in memory', async () => {
    const found = await foundWith(({ state }) => state.vectors.blocks[0]!.write(1, 2, new Uint8Array(4)));
    expect(found).to.include(
      'a judge found: in world, the memory of records 2 of collection 1 differs from the written values',
    );
  });
});
