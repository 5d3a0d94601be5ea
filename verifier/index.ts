/**
 * The verifier as a library, for Node and browsers. It checks receipts, proofs, checkpoints and whole logs only by the documented
 * formats, without asking a service. Bytes are `Uint8Array`; hashes are BLAKE3-256, 32 bytes, in JSON lowercase hex. Sequences,
 * sizes and times (`…Ms`, since 1970) are `bigint`. The folder `node/` adds readers of files and NATS.
 */
export { type AccessHead, type AccessReport, accessHeadIn, copiedFrames, verifyAccessLog } from './access.js';
export { type Actor, actorText } from './actor.js';
export type { Alteration } from './alteration.js';
export { toHex } from './bytes.js';
export { type Checkpoint, notOfLog, servedAs, verifyCheckpoint } from './checkpoint.js';
export { type ClaimResult, Claims } from './claims.js';
export { weaknessOf } from './ed25519.js';
export {
  type ErasedCollection,
  type ErasedContent,
  type Erasure,
  signersOf,
  verifyErasure,
} from './erasure.js';
export type { Genesis, LogEvent, LogGenesis } from './events.js';
export { checkExport, type ExportClaims, stateBefore } from './exportClaims.js';
export { ExportFile } from './exportFile.js';
export type { FileReading, Readable } from './fileReading.js';
export { type FlippedBit, flippedBitIn, isIntact } from './frame.js';
export { type Blake3, useBlake3 } from './hashing.js';
export { parseJson } from './json.js';
export { type LogOptions, type LogReport, type Refusal, verifyFrames, verifyLog } from './log.js';
export { type Consistency, type Inclusion, type LogAt, verifyConsistency, verifyInclusion } from './logProofs.js';
export { type Reached, watchReached } from './reached.js';
export { Refused } from './reading.js';
export {
  chainHeadAfter,
  notOfAnswer,
  type Proof,
  readProof,
  receiptIn,
  verifyReceipt,
  type WriteReceipt,
} from './receipt.js';
export { type ClaimedRecord, rebuiltEvent } from './receiptEvent.js';
export { claimedRecord } from './recordJson.js';
export type { EncryptedValues, RecordValues } from './records.js';
export type { EventPlace } from './recordTable.js';
export type { LogState, Moment, Watches } from './replay.js';
export { type FrameSource, GivenFrames, type Place, type PlacedFrame, SourceRefused } from './source.js';
export { fromBase64, toBase64 } from './tlog/base64.js';
export {
  type CensusEntry,
  type CheckpointEntry,
  type DeletionEntry,
  type LogEntry,
  parseEntry,
} from './tlog/entry.js';
export { type LoggedCheckpoint, verifyLogged, verifyLoggedAccess } from './tlog/logged.js';
export { EMPTY_ROOT, Frontier, isConsistent, leafHash, rootFromPath, type TreeAt } from './tlog/merkle.js';
export {
  LogAlarm,
  type LogVisit,
  type ReadLogFile,
  readAgain,
  type SeenCensus,
  type SeenCollection,
  type SeenLog,
  visitLog,
} from './tlog/monitor.js';
export {
  COSIGNATURE,
  ED25519,
  formatNote,
  formatSignature,
  formatVerifierKey,
  isKeyName,
  isNoteSigned,
  type Note,
  type NoteSignature,
  parseNote,
  parseSignature,
  parseVerifierKey,
  signaturesBy,
  type VerifierKey,
  verifierKey,
} from './tlog/note.js';
export {
  isQuorum,
  type Policy,
  type PolicyWitness,
  parsePolicy,
  type TrustedCheckpoint,
  verifyTreeHead,
} from './tlog/policy.js';
export {
  entriesIn,
  type FetchTile,
  parseTilePath,
  TILE_WIDTH,
  type TileName,
  TileTree,
  tilePath,
  tileWidth,
} from './tlog/tiles.js';
export { formatTlogProof, parseTlogProof, type TlogProof, verifyTlogProof } from './tlog/tlogProof.js';
export {
  type Cosignature,
  cosignatureBy,
  cosignedText,
  parseTreeHead,
  type TreeHead,
  timedSignature,
  treeHeadText,
} from './tlog/treeHead.js';
export { type AnswerBounds, AnswerTooLong, type WholeAnswer, wholeAnswer } from './wholeAnswer.js';
