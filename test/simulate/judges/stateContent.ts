/** One hash over everything in a state and its history. It does not depend on slots, so it is equal on every replica. */
import { createHash, type Hash } from 'node:crypto';
import type { CollectionState } from '../../../shard/state/collectionState.js';
import type { EncryptedRecord } from '../../../shard/state/encryptedRecords.js';
import type { LogHistory } from '../../../shard/state/logHistory.js';

/** Returns the hash of a whole state, and the ids of the records that differ from the state tree (`wrong`). */
export function contentOf(state: CollectionState, history: LogHistory): { content: string; wrong: readonly number[] } {
  const hash = createHash('sha256');
  const wrong: number[] = [];
  // The tree has only hashes of the records, so the records themselves are added.
  for (let id = 1; id < state.nextRecordId; id++) {
    if (!state.isAsHashed(id) || !isFound(state, id)) wrong.push(id);
    hash.update(state.tree.leaf(id - 1));
  }
  hash.update(history.tree.root(history.tree.size)).update(state.graph.root());
  hash.update(JSON.stringify(numbersOf(state)));
  for (let place = 0; place < state.tree.changes.length; place++) {
    const { sequence, index, leaves, oldLeaf } = state.tree.changes.at(place);
    hash.update(`${sequence} ${index} ${leaves} `).update(oldLeaf);
  }
  for (const [key, { recordId, sequence }] of state.requests.entries())
    hash.update(`${recordId} ${sequence} `).update(key, 'latin1');
  for (let place = 0; place < state.graph.history.length; place++) {
    const { sequence, root } = state.graph.history.entry(place);
    hash.update(`${sequence} `).update(root);
  }
  for (let i = 0; i < history.frames; i++) hash.update(JSON.stringify(history.frame(i)));
  addLifetimes(state, hash);
  return { content: hash.digest('hex'), wrong };
}

/** Returns the values in a fixed order: the order of fields differs. */
const valuesOf = (record: EncryptedRecord): unknown[] => {
  const { id, tag, insertedMs, keyId, contentHash, sequence, payloadBytes, isTombstoned } = record;
  return [id, tag, insertedMs, keyId, contentHash, sequence, payloadBytes, isTombstoned];
};

function numbersOf(state: CollectionState): unknown {
  const { liveRecords, heldBytes, nextRecordId, encrypted, texts, graph, requests } = state;
  return {
    ...{ liveRecords, heldBytes, nextRecordId, changedBy: graph.changedBy, requests: requests.size },
    ...{ encrypted: [...encrypted.all()].map(valuesOf), shredded: [...encrypted.shreddedKeys()].sort() },
    ...{ texts: texts.documents, averageLength: texts.averageLength },
    ...{ nodes: graph.nextNodeId, edges: graph.nextEdgeId, ofKinds: graph.countNodes(null) },
  };
}

/** Whether a record with a vector is found where it must be: at its slot, and under its external id. */
function isFound(state: CollectionState, id: number): boolean {
  const slot = state.keptSlotOf(id);
  if (slot === undefined) return true;
  if (state.vectors.idOf(slot) !== id) return false;
  const externalId = state.externalIds.get(slot);
  return externalId === null || state.liveSlotOf(id) === undefined || state.externalIds.find(externalId) === id;
}

function addLifetimes({ versions }: CollectionState, hash: Hash): void {
  for (const { length, pieces } of versions.save()) {
    hash.update(`${length} `);
    for (const piece of pieces) hash.update(new Uint8Array(piece.buffer, piece.byteOffset, piece.byteLength));
  }
}
