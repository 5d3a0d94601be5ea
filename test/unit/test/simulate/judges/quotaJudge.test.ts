/** The judge of a project's quotas, with hand-made frames. */
import { expect } from 'chai';
import type { CollectionState } from '../../../../../shard/state/collectionState.js';
import type { Event } from '../../../../../shared/log/event.js';
import type { Frame } from '../../../../../shared/log/frame.js';
import { NOTHING_HELD } from '../../../../../shared/model/quotas.js';
import { Findings } from '../../../../simulate/judges/findings.js';
import { QuotaJudge, quotaJudgeOf } from '../../../../simulate/judges/quotaJudge.js';
import { World } from '../../../../simulate/world/world.js';
import type { Call } from '../../../../soak/history.js';

const LIMITS = { records: 10, bytes: 1_000 };
const FRAME_BYTES = 100;

const state = { heldBytes: NOTHING_HELD } as CollectionState;

interface After {
  readonly sequence: number;
  readonly records: number;
  readonly logBytes: number;
  readonly type?: Event['type'];
}

const frameOf = ({ sequence, records, logBytes, type = 'insert' }: After): Frame =>
  ({
    header: { lastSequence: sequence, liveRecords: records },
    bytes: new Uint8Array(FRAME_BYTES),
    events: [{ type, actor: null }],
    end: { logBytes },
  }) as unknown as Frame;

const refused = (kind: string, brings: number): Call =>
  ({
    ...{ op: 'insert', collection: 'c1', startMs: 0, endMs: 1 },
    outcome: {
      kind: 'refused',
      why: `507 capacity_exceeded: the quota of ${kind} is full: the project uses 9 of 10 ${kind}, and the request adds ${brings}`,
    },
  }) as unknown as Call;

describe('the judge of quotas', () => {
  let findings: Findings;
  let judge: QuotaJudge;
  beforeEach(() => {
    findings = new Findings(new World(1));
    judge = new QuotaJudge(findings, LIMITS);
  });

  it('exists only in a world whose service has quotas', () => {
    expect(quotaJudgeOf(findings, {})).to.equal(undefined);
    expect(quotaJudgeOf(findings, { VOUCH_MAX_RECORDS: '10' })).to.be.instanceOf(QuotaJudge);
  });

  it('reports collections that exceed the quota of records together', () => {
    judge.applied(1, frameOf({ sequence: 6, records: 6, logBytes: 100 }), state);
    judge.applied(2, frameOf({ sequence: 4, records: 4, logBytes: 100 }), state);
    expect(findings.all).to.deep.equal([]);
    judge.applied(2, frameOf({ sequence: 5, records: 5, logBytes: 200 }), state);
    expect(findings.all).to.deep.equal(['a judge found: the project uses 11 of 10 records']);
  });

  it('counts each frame once, for any number of replicas that apply it', () => {
    judge.applied(1, frameOf({ sequence: 6, records: 6, logBytes: 600 }), state);
    judge.applied(1, frameOf({ sequence: 7, records: 2, logBytes: 700 }), state);
    judge.applied(1, frameOf({ sequence: 6, records: 20, logBytes: 600 }), state);
    expect(findings.all).to.deep.equal([]);
  });

  it('lets only deletions exceed the quota of bytes', () => {
    judge.applied(1, frameOf({ sequence: 1, records: 1, logBytes: 950 }), state);
    judge.applied(1, frameOf({ sequence: 2, records: 0, logBytes: 1_050, type: 'delete' }), state);
    expect(findings.all).to.deep.equal([]);
    judge.applied(1, frameOf({ sequence: 3, records: 1, logBytes: 1_150 }), state);
    expect(findings.all).to.deep.equal(['a judge found: the project uses 1050 of 1000 bytes']);
  });

  it('accepts a refusal near the limit and reports one far below it', () => {
    judge.applied(1, frameOf({ sequence: 4, records: 4, logBytes: 100 }), state);
    expect(judge.judged([refused('records', 3)])[0]!.outcome.kind).to.equal('busy');
    expect(findings.all).to.deep.equal([]);
    judge.judged([refused('bytes', 3)]);
    expect(findings.all).to.deep.equal(['a judge found: insert of c1 is refused with 100 of 1000 bytes in use']);
  });
});
