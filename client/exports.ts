/** Checks a whole exported log on this machine, from its genesis on, without a request to the service. */
import { Claims, checkExport, ExportFile, type Readable, stateBefore, toHex, verifyLog } from '../verifier/index.js';
import type { CheckpointResponse } from './contract/proofs.js';
import type { Receipt } from './contract/records.js';
import { ProofError } from './errors.js';
import { assertOptions } from './exact.js';
import { type Signer, signerOf } from './proofs.js';
import { toWire } from './spelling.js';

export interface ExportClaims extends Signer {
  /** Receipts that you hold: each must be of an event of this log. */
  readonly receipts?: readonly Receipt[];
  /** Checkpoints that you hold: each must be of this log. */
  readonly checkpoints?: readonly CheckpointResponse[];
}

export interface VerifiedExport {
  readonly project: string;
  readonly collection: string;
  readonly dimension: number;
  /** Present where vectors are divided by their length. */
  readonly normalise?: true;
  /** Present where words match by their stems. */
  readonly text?: { readonly language: string; readonly version: number };
  /** The number of committed events. */
  readonly events: number;
  /** Live records after the last event. */
  readonly records: number;
  /** The time of the last event, unix milliseconds. */
  readonly timeMs: number;
  /** The hash of the state after the last event. */
  readonly stateHash: string;
  /** The key that signed the checkpoint at the end of the export. */
  readonly publicKey: string;
}

/**
 * Replays an export, the file of `npm run export`. Checks every hash and rule on the way, the signed end, and the claims. Throws
 * ProofError that says which check failed, and where. Costs some 10 µs an event.
 */
export async function verifyExport(file: Uint8Array | Blob, claimed: ExportClaims = {}): Promise<VerifiedExport> {
  assertOptions(claimed, ['publicKey', 'receipts', 'checkpoints'], 'claims');
  const { receipts = [], checkpoints = [], ...signer } = claimed;
  const publicKey = signerOf(signer);
  const [readable, sizeBytes] = file instanceof Uint8Array ? [inMemory(file), file.length] : [inBlob(file), file.size];
  const source = new ExportFile('the export', readable, sizeBytes);
  const claims = new Claims();
  for (const [i, receipt] of receipts.entries()) claims.addReceipt(`receipt ${i}`, toWire(receipt));
  for (const [i, checkpoint] of checkpoints.entries())
    claims.addCheckpoint(`checkpoint ${i}`, toWire(checkpoint), publicKey);
  try {
    const report = await verifyLog(source, { watches: claims.watches });
    const { refusal } = report;
    if (refusal !== undefined)
      throw new ProofError('proof', `${refusal.what} (byte ${refusal.place.byte} of the export)`);
    const { problems, genesis, checkpoint } = checkExport(source, report, publicKey);
    const unheld = claims
      .results(report, genesis && { genesis, state: stateBefore(genesis) })
      .flatMap(({ name, problems: why }) => (why.length === 0 ? [] : [`${name}: ${why.join('; ')}`]));
    if (problems.length + unheld.length > 0) throw new ProofError('proof', [...problems, ...unheld].join('; '));
    return {
      project: genesis!.project,
      collection: genesis!.name,
      dimension: genesis!.dimension,
      ...(genesis!.normalise && { normalise: true }),
      ...(genesis!.text && { text: genesis!.text }),
      events: Number(report.size) - 1,
      records: report.records.live,
      timeMs: Number(report.state.timeMs),
      stateHash: toHex(report.state.stateHash),
      publicKey: checkpoint!.publicKey,
    };
  } finally {
    await source.close();
  }
}

const inMemory = (bytes: Uint8Array): Readable => ({
  read: (into, offset, length, position) => {
    const part = bytes.subarray(position, position + length);
    into.set(part, offset);
    return Promise.resolve({ bytesRead: part.length });
  },
  close: () => Promise.resolve(),
});

const inBlob = (blob: Blob): Readable => ({
  read: async (into, offset, length, position) => {
    const part = new Uint8Array(await blob.slice(position, position + length).arrayBuffer());
    into.set(part, offset);
    return { bytesRead: part.length };
  },
  close: () => Promise.resolve(),
});
