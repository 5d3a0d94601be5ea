/**
 * Takes chain, log tree and state tree out of a process, to measure what they cost: nothing is hashed, no tree grows, and
 * what is written proves nothing. As `--import` of a shard (and of nothing else: keys are hashes too), or called.
 */
import { LogTree } from '../shard/audit/logTree.js';
import { StateTree, type TreeWrite } from '../shard/audit/stateTree.js';
import { Blake3 } from '../shared/hashing/blake3.js';
import { HASH_BYTES } from '../shared/limits.js';

const SHARD = /shard[/\\]main\.js$/;

/** Not empty, which would stand for what is not there. */
const ANY_HASH = new Uint8Array(HASH_BYTES).fill(1);
/** What a receipt is made of. */
const ANY_WRITE: TreeWrite = { kind: 'insert', leaves: 1, oldLeaf: ANY_HASH, newLeaf: ANY_HASH, path: ANY_HASH };

/** The checksum of a large frame stays: it guards the disk, whether or not there is anything to prove. Returns what undoes it. */
export function takeAuditOut(): () => void {
  const { hash, hashInto } = Blake3.prototype;
  const kept = {
    log: LogTree.prototype.append,
    state: StateTree.prototype.append,
    writes: StateTree.prototype.pastWrite,
  };
  Blake3.prototype.hash = () => ANY_HASH;
  Blake3.prototype.hashInto = () => undefined;
  LogTree.prototype.append = () => undefined;
  StateTree.prototype.append = () => undefined;
  // biome-ignore lint/correctness/useYield: of a walk that is over at once
  StateTree.prototype.pastWrite = function* () {
    return ANY_WRITE;
  };
  return () => {
    Object.assign(Blake3.prototype, { hash, hashInto });
    LogTree.prototype.append = kept.log;
    StateTree.prototype.append = kept.state;
    StateTree.prototype.pastWrite = kept.writes;
  };
}

if (SHARD.test(process.argv[1] ?? '')) takeAuditOut();
