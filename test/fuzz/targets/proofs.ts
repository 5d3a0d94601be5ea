/** Receipts, log proofs and checkpoints from outside: only real ones verify. */
import { verifyCheckpoint } from '../../../verifier/checkpoint.js';
import { verifyConsistency, verifyInclusion } from '../../../verifier/logProofs.js';
import { receiptIn, verifyReceipt } from '../../../verifier/receipt.js';
import { History } from '../../support/rigs/auditHistory.js';
import { writeCheckpoint, writeConsistency, writeInclusion, writeLog } from '../../support/rigs/writtenLog.js';
import type { FuzzTarget } from '../target.js';

type Fields = Record<string, unknown>;

const LOG_FIELDS = ['sequence', 'size', 'root'];

interface Kind {
  /** Fields whose change matters; no proof covers the other ones. */
  readonly fields: readonly string[];
  /** Throws an Error if the proof is invalid. */
  readonly verify: (json: Fields) => unknown;
}

const assertReceipt = (json: Fields): void => {
  const problems = verifyReceipt(receiptIn(json));
  if (problems.length > 0) throw new Error(problems.join('; '));
};

const KINDS: readonly Kind[] = [
  {
    fields: ['record_id', 'old_root', 'new_root', 'proof', 'sequence', 'timestamp', 'state_hash'],
    verify: assertReceipt,
  },
  { fields: ['sequence', 'size', 'root', 'proof'], verify: verifyInclusion },
  { fields: ['from', 'to', 'proof'], verify: verifyConsistency },
  { fields: ['checkpoint', 'signature', 'public_key'], verify: (json) => verifyCheckpoint(json) },
];

const isOfKind = (json: Fields, { fields }: Kind): boolean => fields.every((field) => json[field] !== undefined);
/** Fields as text, so that −0 equals 0. */
const picked = (json: Fields, { fields }: Kind): string => JSON.stringify(fields.map((field) => saidBy(json[field])));
/** The fields of a log that a verifier reads; other values are kept. */
const saidBy = (value: unknown): unknown =>
  value !== null && typeof value === 'object' ? LOG_FIELDS.map((field) => (value as Fields)[field]) : value;

export const proofs: FuzzTarget = {
  name: 'proofs',
  open: async (random) => {
    const log = writeLog();
    const size = log.events.length;
    const history = new History(random);
    await history.commit(12);
    const made: Fields[] = [
      ...history.writes.map(({ receipt }) => receipt),
      ...[0, 1, size - 1].map((sequence) => writeInclusion(log, sequence, size)),
      ...[1, 4, size].map((from) => writeConsistency(log, from, size)),
      await writeCheckpoint(log, size),
    ].map((json) => json as unknown as Fields);
    return {
      samples: made.map((json) => Buffer.from(JSON.stringify(json))),
      tryOne: (input) => {
        let json: Fields;
        try {
          json = JSON.parse(Buffer.from(input).toString()) as Fields;
        } catch {
          return 'refused';
        }
        if (json === null || typeof json !== 'object') return 'refused';
        const accepted = KINDS.filter((kind) => isOfKind(json, kind)).filter(({ verify }) => holds(() => verify(json)));
        for (const kind of accepted)
          if (!made.some((one) => picked(one, kind) === picked(json, kind)))
            throw new Error(`a forged ${kind.fields.join(', ')} verifies`);
        return accepted.length > 0 ? 'taken' : 'refused';
      },
      close: async () => undefined,
    };
  },
};

function holds(verify: () => unknown): boolean {
  try {
    verify();
    return true;
  } catch {
    return false;
  }
}
