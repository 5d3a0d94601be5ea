/**
 * Proofs about the log, in bytes. Version 1:
 *
 *   inclusion    u8 version | chain head after the event (32) | siblings (32 each), bottom first
 *   consistency  u8 version | nodes (32 each), as `LogTree.consistency` gives them
 */
const PROOF_VERSION = 1;

export const inclusionProof = (chainHead: Uint8Array, path: Uint8Array): Uint8Array =>
  Buffer.concat([Uint8Array.of(PROOF_VERSION), chainHead, path]);

export const consistencyProof = (nodes: Uint8Array): Uint8Array => Buffer.concat([Uint8Array.of(PROOF_VERSION), nodes]);
