/** Which calls travel together, and what may be done with one whose outcome is not known. */
import type { Call } from '../../shared/calls.js';
import type { Verb } from '../../shared/subjects.js';

/** To the owner under a verb, or to whichever follower takes it. */
export type Way = Verb | 'followers';

const VERBS: Readonly<Record<Call['op'], Verb>> = {
  get: 'read',
  search: 'read',
  describe: 'read',
  indexState: 'read',
  graphNode: 'read',
  graphNodes: 'read',
  graphEdges: 'read',
  graphSubgraph: 'read',
  graphQuery: 'read',
  getEncrypted: 'read',
  readLog: 'read',
  proofState: 'read',
  proofReceipt: 'read',
  proofInclusion: 'read',
  proofConsistency: 'read',
  checkpoint: 'read',
  timeline: 'read',
  insertEncrypted: 'write',
  shredKey: 'write',
  insert: 'write',
  insertBatch: 'write',
  softDelete: 'write',
  delete: 'write',
  updateMetadata: 'write',
  addNode: 'write',
  deleteNode: 'write',
  addEdge: 'write',
  deleteEdge: 'write',
  configureIndex: 'control',
  hold: 'control',
  release: 'control',
  rebuild: 'control',
  importFrames: 'control',
};

export const verbOfCall = ({ op }: Call): Verb => VERBS[op];

/** Whoever asks to be told which state was searched takes an older one too. */
export const mayBeFollowers = (call: Call): boolean => call.op === 'search' && call.tellSequence === true;
