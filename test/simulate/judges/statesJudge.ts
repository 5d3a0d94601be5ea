/**
 * Judges the states of the collections in all processes: in owners, followers, and readers of snapshots and logs. After an event
 * all of them have one state hash, which is that of the replayed log. After some events, and at the end, everything else in them
 * is compared too.
 */
import { VectorBlocks } from '../../../shard/kernel/vectorBlocks.js';
import type { CollectionState } from '../../../shard/state/collectionState.js';
import { Journal } from '../../../shard/state/journal.js';
import { LogHistory } from '../../../shard/state/logHistory.js';
import { toHex } from '../../../shared/hashing/hash.js';
import type { Frame } from '../../../shared/log/frame.js';
import type { CollectionConfig } from '../../../shared/model/collectionConfig.js';
import { type CollectionLog, stateHashAt } from '../../soak/checker/log.js';
import type { LogOf } from '../../soak/readLogs.js';
import { PROJECT } from '../cluster/projects.js';
import type { Party } from '../world/party.js';
import { ExpiryJudge } from './expiryJudge.js';
import type { Findings } from './findings.js';
import type { QuotaJudge } from './quotaJudge.js';
import { contentOf } from './stateContent.js';
import { after, before, JudgeOf } from './wrapped.js';

/** Everything is compared after one frame in this many. These frames are equal for all replicas. */
const COMPARED_ONE_IN = 32;

/** A state in a process. */
interface Replica {
  readonly of: Party;
  readonly journal: Journal;
  readonly state: CollectionState;
  readonly collectionId: number;
  readonly project: string;
}

/** Hash of the first state after an event, and the process that had it. */
interface Seen {
  readonly hash: string;
  readonly by: string;
}

type BySequence = Map<number, Seen>;

const judges = new JudgeOf<StatesJudge>();

export class StatesJudge {
  readonly #replicas = new Map<LogHistory, Replica>();
  /** State hashes by collection. */
  readonly #hashes = new Map<number, BySequence>();
  /** Hashes of everything, by collection. */
  readonly #contents = new Map<number, BySequence>();

  constructor(
    private readonly findings: Findings,
    readonly quota: QuotaJudge | undefined,
  ) {
    judges.set(findings.world, this);
    new ExpiryJudge(findings);
  }

  /** Receives each journal that is used. A new one may have been restored from a snapshot, and is judged at once. */
  used(journal: Journal): void {
    if (this.#replicas.has(journal.history)) return;
    const { config, state } = journal as unknown as { config: CollectionConfig; state: CollectionState };
    const { id: collectionId, project } = config;
    const replica = { of: this.findings.world.party, journal, state, collectionId, project };
    this.#replicas.set(journal.history, replica);
    if (journal.sequence === 0) return;
    this.#hash(replica);
    this.#content(replica);
  }

  /** Receives each whole frame that is applied. */
  applied(history: LogHistory, frame: Frame): void {
    const replica = this.#replicas.get(history);
    if (replica?.project === PROJECT) this.quota?.applied(replica.collectionId, frame, replica.state);
    if (replica === undefined || history.sequence === 0) return;
    this.#hash(replica);
    if (history.end.chainHead[0]! % COMPARED_ONE_IN === 0) this.#content(replica);
  }

  /** Receives the vectors of each state that is closed. */
  closed(vectors: VectorBlocks): void {
    for (const [history, { state }] of this.#replicas) if (state.vectors === vectors) this.#replicas.delete(history);
  }

  /** Ends the judgement: compares everything in all open replicas, and the state hashes with those of the logs. */
  over(collections: readonly LogOf[], logs: readonly CollectionLog[]): void {
    for (const replica of this.#replicas.values())
      if (replica.of.alive && replica.journal.isWhole && replica.journal.sequence > 0) this.#content(replica);
    for (const log of logs) {
      const hashes = this.#hashes.get(collections.find(({ name }) => name === log.collection)?.id ?? 0);
      for (const [sequence, root] of log.stateRoots) {
        const seen = hashes?.get(sequence);
        if (seen !== undefined && seen.hash !== stateHashAt(log, sequence, root))
          this.findings.add(`${seen.by} has another state of ${log.collection} after event ${sequence} than its log`);
      }
    }
  }

  /** The state hash of the collection after an event, as the first process had it; undefined if none was seen. */
  hashAt(collectionId: number, sequence: number): string | undefined {
    return this.#hashes.get(collectionId)?.get(sequence)?.hash;
  }

  /** Call it after servers have lost stored messages, when all processes have ended. */
  forget(): void {
    this.quota?.forget();
    this.#replicas.clear();
    this.#hashes.clear();
    this.#contents.clear();
  }

  #hash({ journal, collectionId }: Replica): void {
    const { sequence } = journal;
    this.#equal(this.#hashes, 'state hash', { id: collectionId, sequence, hash: toHex(journal.stateHash()) });
  }

  #content({ of, journal, state, collectionId }: Replica): void {
    const { content, wrong } = contentOf(state, journal.history);
    const { sequence } = journal;
    if (wrong.length > 0)
      this.findings.add(
        `in ${of.name}, the memory of records ${wrong} of collection ${collectionId} differs from the written values`,
      );
    // A replica that replays the log after a shred in the vault never has the contents that another has until the event.
    if (state.encrypted.hasContents) return;
    this.#equal(this.#contents, 'state', { id: collectionId, sequence, hash: content }, of);
  }

  #equal(
    all: Map<number, BySequence>,
    what: string,
    { id, sequence, hash }: { id: number; sequence: number; hash: string },
    { name } = this.findings.world.party,
  ): void {
    let known = all.get(id);
    if (known === undefined) {
      known = new Map();
      all.set(id, known);
    }
    const seen = known.get(sequence);
    if (seen === undefined) known.set(sequence, { hash, by: name });
    else if (seen.hash !== hash)
      this.findings.add(`${name} has another ${what} of collection ${id} after event ${sequence} than ${seen.by}`);
  }
}

for (const name of ['take', 'adopt', 'catchUp'] as const)
  before(Journal.prototype, name, (journal) => judges.current?.used(journal));
after(LogHistory.prototype, 'add', (history, _, [frame]) => judges.current?.applied(history, frame));
before(VectorBlocks.prototype, 'destroy', (vectors) => judges.current?.closed(vectors));
