/** Forged receipts, consistent in themselves: possible for anyone who knows the formats. */
import { toHex } from '../../../verifier/bytes.js';
import { stateHash, stateRoot } from '../../../verifier/hashing.js';
import { chainHeadAfter, oldRootOf, type Proof, readProof, type WriteReceipt } from '../../../verifier/receipt.js';
import { hashFromPath } from '../../../verifier/tree.js';

/** Offsets of the proof's hashes. */
const HASHES_AT = { oldLeaf: 40, newLeaf: 72, chainHeadBefore: 104, eventHash: 136, graphRoot: 168, configHash: 200 };

/** Replaces some hashes of the receipt's proof, and recomputes everything that depends on them. */
export function forgedReceipt(
  receipt: WriteReceipt,
  changes: Partial<Record<keyof typeof HASHES_AT, Uint8Array>>,
): WriteReceipt {
  const bytes = Buffer.from(receipt.proof, 'base64url');
  for (const [name, hash] of Object.entries(changes)) bytes.set(hash, HASHES_AT[name as keyof typeof HASHES_AT]);
  const text = bytes.toString('base64url');
  const proof = readProof(text);
  const { recordId, leaves, newLeaf, path } = proof;
  const newRoot = stateRoot(leaves, hashFromPath(newLeaf, { index: recordId - 1n, size: leaves }, path));
  return {
    ...receipt,
    proof: text,
    old_root: toHex(oldRootOf(proof)),
    new_root: toHex(newRoot),
    state_hash: toHex(stateAfter(proof, newRoot)),
  };
}

const stateAfter = (proof: Proof, newRoot: Uint8Array): Uint8Array =>
  stateHash({ ...proof, stateRoot: newRoot, chainHead: chainHeadAfter(proof) });
