/** Statements about contents that a shred has erased, and their proofs; see `docs/formats/erasure.md`. */

import type { Clock } from '../../shared/clock.js';
import { counted } from '../../shared/errors/counted.js';
import { unavailable, unreachable, VouchError } from '../../shared/errors/errors.js';
import { toHex } from '../../shared/hashing/hash.js';
import { ERASED_CONTENTS_MAX } from '../../shared/limits.js';
import { Damaged } from '../../shared/log/damaged.js';
import { type ErasedContent, encodeErasedContents, erasedContentsHash } from '../../shared/log/erasedContents.js';
import { type Event, type EventUnderKey, type InsertEncrypted, isUnderKey } from '../../shared/log/event.js';
import { chainHeadBefore, type Frame } from '../../shared/log/frame.js';
import type { Results } from '../../shared/protocol/calls.js';
import type { ErasedRecord, ErasureCall, ErasureResults, KeyErasure } from '../../shared/protocol/erasures.js';
import { Mutex } from '../../shared/scheduling/mutex.js';
import { inSlices, type Slice } from '../../shared/scheduling/slice.js';
import type { Signer } from '../../shared/signing/signer.js';
import { encryptedContentHash } from '../audit/leaf.js';
import type { PastTree } from '../audit/merkleTree.js';
import type { Journal } from '../state/journal.js';
import type { ReplayedCollection } from '../state/replayedCollection.js';
import type { CollectionProofs } from './collectionProofs.js';

const STATEMENT_TITLE = 'vouch erased contents v1';

type Certified = Omit<KeyErasure, 'statement'>;

export class Erasures {
  readonly #completion = new Mutex();

  constructor(
    private readonly collection: ReplayedCollection,
    private readonly proofs: Pick<CollectionProofs, 'checkpoint' | 'inclusionPath'>,
    private readonly by: { readonly signer: Signer; readonly clock: Clock },
  ) {}

  /** Answers a call. Throws the errors that `ErasureCall` names, `unavailable` after the deadline, and Damaged. */
  async answer(call: ErasureCall, slice: Slice): Promise<Results[ErasureCall['op']]> {
    await this.#completion.run(() => this.#complete(slice));
    switch (call.op) {
      case 'countUnderKeys':
        return { count: sizeOfAll(await this.#sequencesUnder(call.keyIds, slice)) };
      case 'erasures':
        return this.#erasures(call, slice);
      case 'erasureProofs':
        return this.#proofsOf(call, slice);
      default:
        return unreachable(call);
    }
  }

  /** Reads the facts of erasures that an old snapshot lacks from the log: all events before it, once for each opening. */
  async #complete(slice: Slice): Promise<void> {
    const { encrypted } = this.collection.state;
    const { erasures } = encrypted;
    while (erasures.unknownFrom <= erasures.unknownUntil) {
      const { header, events } = await this.collection.journal.frameWith(erasures.unknownFrom);
      for (const event of events) {
        if (event.type === 'shredKey') erasures.add('shred', toHex(event.keyId), event.sequence);
        if (event.type === 'insertEncrypted' && encrypted.get(event.recordId) === undefined)
          erasures.add('former', toHex(event.keyId), event.sequence);
        if (slice.due) await slice.next();
      }
      erasures.unknownFrom = header.firstSequence + events.length;
    }
    erasures.unknownUntil = 0;
  }

  async #erasures(
    { keyIds, size: wantedSize }: Extract<ErasureCall, { op: 'erasures' }>,
    slice: Slice,
  ): Promise<ErasureResults['erasures']> {
    const sequences = await this.#sequencesUnder(keyIds, slice);
    const count = sizeOfAll(sequences);
    if (count > ERASED_CONTENTS_MAX) throw tooMany(count);
    const { size, ...checkpoint } = wantedSize === null ? await this.proofs.checkpoint() : { size: wantedSize };
    this.#assertSize(size);
    const certified = await this.#certified(sequences, size, slice);
    const root = toHex(this.collection.journal.history.tree.root(size));
    return {
      size,
      ...('text' in checkpoint && { checkpoint }),
      state: this.#stateAt(size),
      erasures: certified.map((erasure) => ({ ...erasure, statement: this.#statement(erasure, size, root) })),
    };
  }

  #statement({ keyId, shred, contents }: Certified, size: number, root: string): KeyErasure['statement'] {
    const { project, name, id } = this.collection.config;
    const { signer, clock } = this.by;
    const origin = `${project}/${name}/${id}/${toHex(this.collection.journal.history.configHash)}`;
    const contentsHash = toHex(erasedContentsHash(contents));
    const lines = [STATEMENT_TITLE, origin, keyId, size, root, shred.sequence, contentsHash, clock.nowMs()];
    const text = lines.map((line) => `${line}\n`).join('');
    return { text, signature: signer.sign(text), publicKey: signer.publicKey };
  }

  /** Reads the events of all keys in order. A frame that has contents under many keys is read once. */
  async #certified(
    sequences: ReadonlyMap<string, ReadonlySet<number>>,
    size: number,
    slice: Slice,
  ): Promise<Certified[]> {
    const wanted = [...sequences].flatMap(([keyId, ofKey]) =>
      [...ofKey, this.#shredOf(keyId, size)].map((sequence) => ({ sequence, keyId })),
    );
    wanted.sort((one, other) => one.sequence - other.sequence);
    const frames = new FrameReading(this.collection.journal);
    const contents = new Map<string, ErasedContent[]>([...sequences.keys()].map((keyId) => [keyId, []]));
    const shreds = new Map<string, KeyErasure['shred']>();
    for (const { sequence, keyId } of wanted) {
      const event = await frames.eventAt(sequence);
      if (event.type === 'shredKey') shreds.set(keyId, this.#shred(event, frames.frame!, size));
      else contents.get(keyId)!.push(contentOf(event, keyId));
      if (slice.due) await slice.next();
    }
    return [...contents].map(([keyId, ofKey]) => ({
      keyId,
      contents: encodeErasedContents(ofKey),
      shred: shreds.get(keyId)!,
    }));
  }

  /** Throws `unavailable` if the log of that size does not have the event of the shred. */
  #shredOf(keyId: string, size: number): number {
    const sequence = this.collection.state.encrypted.erasures.shredOf(keyId);
    if (sequence !== undefined && sequence < size) return sequence;
    throw unavailable(
      `the log of ${counted(size, 'event')} of collection ${this.collection.config.name} does not state the shred yet`,
    );
  }

  #shred({ sequence, timeMs, actor }: Event, frame: Frame, size: number): KeyErasure['shred'] {
    const before = chainHeadBefore(frame, sequence - frame.header.firstSequence).slice();
    return { sequence, timeMs, actor, chainHeadBefore: before, proof: this.proofs.inclusionPath(sequence, size) };
  }

  /** Returns the parts of the state hash after `size` events, so that records can be proved in that state. */
  #stateAt(size: number): ErasureResults['erasures']['state'] {
    const { versions, graph } = this.collection.state;
    const sequence = size - 1;
    if (!versions.knowsHash(sequence)) return null;
    const [records, timeMs] = [versions.recordsAt(sequence), versions.timeAt(sequence)];
    return { records, graphRoot: graph.rootAt(sequence).slice(), timeMs };
  }

  async #proofsOf(
    { size, sequences, recordIds }: Extract<ErasureCall, { op: 'erasureProofs' }>,
    slice: Slice,
  ): Promise<ErasureResults['erasureProofs']> {
    this.#assertSize(size);
    if (sequences.length !== recordIds.length || sequences.some((sequence) => sequence >= size))
      throw new VouchError('validation_error', `these are not contents of a log of ${counted(size, 'event')}`);
    const { tree, versions } = this.collection.state;
    const past = tree.pastTree(versions.recordsAt(size - 1), size - 1);
    const proofs: Uint8Array[] = [];
    const records: (ErasedRecord | null)[] = [];
    for (const [i, sequence] of sequences.entries()) {
      proofs.push(this.proofs.inclusionPath(sequence, size));
      records.push(await this.#record({ recordId: recordIds[i]!, sequence, size }, past, slice));
      if (slice.due) await slice.next();
    }
    return { proofs, records };
  }

  #assertSize(size: number): void {
    const { nextSequence } = this.collection.journal.history.end;
    if (size < 1 || size > nextSequence)
      throw new VouchError(
        'validation_error',
        `a log of ${counted(size, 'event')} is asked for; this one has ${nextSequence}`,
      );
  }

  /** Returns the record in the state after `size` events. Null if event `sequence` did not write its content, or it was changed later. */
  async #record(
    { recordId, sequence, size }: { readonly recordId: number; readonly sequence: number; readonly size: number },
    past: PastTree,
    slice: Slice,
  ): Promise<ErasedRecord | null> {
    const { encrypted, tree, expiries } = this.collection.state;
    const record = encrypted.get(recordId);
    if (record?.sequence !== sequence || tree.changedBy(recordId - 1) >= size) return null;
    const { isTombstoned, tag, insertedMs } = record;
    const expiresAtMs = expiries.of(recordId) ?? null;
    const path = await inSlices(tree.pastPath(recordId - 1, past), slice);
    return { isTombstoned, tag, insertedMs, expiresAtMs, path };
  }

  /** Returns the sequences of all events with content under each key. No later event is under a shredded one. */
  async #sequencesUnder(keyIds: readonly string[], slice: Slice): Promise<Map<string, Set<number>>> {
    const { encrypted } = this.collection.state;
    const found = new Map(keyIds.map((keyId) => [keyId, new Set<number>()]));
    for (const { keyId, sequence } of encrypted.all()) {
      found.get(keyId)?.add(sequence);
      if (slice.step()) await slice.next();
    }
    // Read after the records: a record that was deleted in a pause is among these.
    for (const [keyId, sequences] of found)
      for (const one of encrypted.erasures.formerUnder(keyId)) {
        sequences.add(one);
        if (slice.step()) await slice.next();
      }
    return found;
  }
}

/** Reads events in ascending order, and keeps the last frame: the next event may be in it. */
class FrameReading {
  frame: Frame | undefined;

  constructor(private readonly journal: Journal) {}

  async eventAt(sequence: number): Promise<Event> {
    const { frame } = this;
    const isInFrame = frame !== undefined && sequence < frame.header.firstSequence + frame.events.length;
    if (!isInFrame) this.frame = await this.journal.frameWith(sequence);
    return this.frame!.events[sequence - this.frame!.header.firstSequence]!;
  }
}

function contentOf(event: Event, keyId: string): ErasedContent {
  if (!(isUnderKey(event) || event.type === 'insertEncrypted') || toHex(event.keyId) !== keyId)
    throw new Damaged(`event ${event.sequence}: it is not the event that was committed`);
  const { sequence, recordId, timeMs, type } = event;
  return { sequence, recordId, timeMs, type, commitment: commitmentOf(event) };
}

const commitmentOf = (event: EventUnderKey | InsertEncrypted): Uint8Array =>
  event.type === 'insertEncrypted' ? encryptedContentHash(event.nonce, event.ciphertext) : event.commitment;

const sizeOfAll = (sequences: ReadonlyMap<string, ReadonlySet<number>>): number =>
  [...sequences.values()].reduce((sum, { size }) => sum + size, 0);

const tooMany = (count: number): VouchError =>
  new VouchError('validation_error', `the keys have ${count} contents; one request certifies ${ERASED_CONTENTS_MAX}`);
