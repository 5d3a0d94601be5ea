/**
 * Disables chain, log tree and state tree in a process, to measure their cost. No event is hashed, no tree grows, and writes have
 * no proofs. Use it with `--import` of a shard, or call it. No other process can use it, since keys are hashes too.
 */
import { LogTree } from '../shard/audit/logTree.js';
import { StateTree, type TreeWrite } from '../shard/audit/stateTree.js';
import { Blake3 } from '../shared/hashing/blake3.js';
import { TOGETHER } from '../shared/hashing/longHash.js';
import { HASH_BYTES } from '../shared/limits.js';

const SHARD = /shard[/\\]main\.js$/;

/** A hash that is not zero, since zeros mean absence. */
const ANY_HASH = new Uint8Array(HASH_BYTES).fill(1);
/** Input of a receipt. */
const ANY_WRITE: TreeWrite = { kind: 'insert', leaves: 1, oldLeaf: ANY_HASH, newLeaf: ANY_HASH, path: ANY_HASH };

/** Returns the function that undoes this. The checksum of a large frame stays, since it protects the disk's content. */
export function takeAuditOut(): () => void {
  const { hash, hashInto, hashTogetherInto } = Blake3.prototype;
  const kept = {
    log: LogTree.prototype.append,
    state: StateTree.prototype.append,
    writes: StateTree.prototype.pastWrite,
  };
  Blake3.prototype.hash = () => ANY_HASH;
  Blake3.prototype.hashInto = (_, target, at) => void target.fill(1, at, at + HASH_BYTES);
  Blake3.prototype.hashTogetherInto = (_bytes, _starts, _sizeBytes, { target, at }) =>
    void target.fill(1, at, at + TOGETHER * HASH_BYTES);
  LogTree.prototype.append = () => undefined;
  StateTree.prototype.append = () => undefined;
  // biome-ignore lint/correctness/useYield: a walk that ends at once
  StateTree.prototype.pastWrite = function* () {
    return ANY_WRITE;
  };
  return () => {
    Object.assign(Blake3.prototype, { hash, hashInto, hashTogetherInto });
    LogTree.prototype.append = kept.log;
    StateTree.prototype.append = kept.state;
    StateTree.prototype.pastWrite = kept.writes;
  };
}

if (SHARD.test(process.argv[1] ?? '')) takeAuditOut();
