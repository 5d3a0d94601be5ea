/** The judge of a history in which the NATS servers lost power. */
import { expect } from 'chai';
import { toHex } from '../../../../../verifier/bytes.js';
import { GivenFrames } from '../../../../../verifier/source.js';
import type { Loss } from '../../../../simulate/cluster/simulatedService.js';
import { judgeLoss, logsBefore, untilLoss } from '../../../../simulate/judges/sinceLoss.js';
import type { CollectionLog } from '../../../../soak/checker/log.js';
import type { Call } from '../../../../soak/history.js';
import { readLog } from '../../../../soak/readLogs.js';
import { writeLog } from '../../../../support/rigs/writtenLog.js';

const ID = 17;
const NAME = 'notes';
const SYNC_MS = 1_000;
const LOSS_MS = 10_000;

const written = writeLog();
const COLLECTIONS = [{ name: NAME, id: ID }];
const [, second, third] = written.frames.map(({ firstSequence, events }) => firstSequence + events.length - 1);
const headAt = (sequence: number): string => toHex(written.chainHeads[sequence]!);

/**
 * Loss of a log of three frames, stored half a minute apart, the last one just now. `kept` is its end after the loss.
 */
const lossOf = (kept: number, chainHead = headAt(kept), noted = 0): Loss => ({
  atMs: LOSS_MS,
  syncedAgoMs: SYNC_MS,
  before: [
    {
      collectionId: ID,
      frames: written.frames.slice(0, 3).map(({ bytes }) => bytes),
      heads: new Map([...Array(third! + 1).keys()].map((sequence) => [sequence, headAt(sequence)])),
      sequenceFor: () => second!,
    },
  ],
  ends: [{ collectionId: ID, sequence: kept, chainHead, noted }],
  isRolledBack: false,
});

const logOf = async (frames: number): Promise<CollectionLog> =>
  readLog(NAME, new GivenFrames(written.frames.slice(0, frames).map(({ bytes }) => bytes)), []);

const callOf = (startMs: number, endMs: number): Call =>
  ({ op: 'get', collection: NAME, startMs, endMs, outcome: { kind: 'absent' } }) as unknown as Call;

describe('the judge of a loss of power', () => {
  it('accepts the loss of events that were not yet synced', async () => {
    expect(judgeLoss(lossOf(second!), COLLECTIONS, [await logOf(2)], new Set())).to.deep.equal([]);
  });

  it('reports the loss of an event that was stored for longer than a sync takes', async () => {
    const found = judgeLoss(lossOf(second! - 1), COLLECTIONS, [await logOf(2)], new Set());
    expect(found).to.deep.equal([`${NAME} has lost event ${second}, which was stored long before`]);
  });

  it('reports an event that replaced a kept one', async () => {
    const found = judgeLoss(lossOf(second!, headAt(1)), COLLECTIONS, [await logOf(2)], new Set());
    expect(found).to.include(`${NAME} has another event ${second} than before its servers lost their power`);
  });

  it('reports a log that ends before its watermark unless the service reports it too', async () => {
    const loss = lossOf(second!, undefined, third);
    expect(judgeLoss(loss, COLLECTIONS, [await logOf(2)], new Set())).to.have.length(1);
    expect(judgeLoss(loss, COLLECTIONS, [await logOf(2)], new Set([ID]))).to.deep.equal([]);
  });

  it('compares earlier answers with the log before the loss', async () => {
    const [log] = await logsBefore(lossOf(second!), COLLECTIONS, [], [await logOf(2)]);
    expect(log!.refusal).to.equal(undefined);
    expect(log!.entries).to.have.length(third!);
  });

  it('ignores calls during and after the loss', () => {
    const calls = [callOf(1, 2), callOf(LOSS_MS - 1, LOSS_MS + 1), callOf(LOSS_MS + 1, LOSS_MS + 2)];
    expect(untilLoss(calls, lossOf(second!)).map(({ outcome }) => outcome.kind)).to.deep.equal(['absent', 'unknown']);
  });
});
