/** The conclusions of a monitor with an API key from the logs of collections. */
import { expect } from 'chai';
import {
  type Answer,
  compare,
  type KeyHolder,
  type SizeAndRoot,
  toCompare,
} from '../../../../scripts/monitor/comparison.js';
import { LogAlarm, type LogEntry } from '../../../../verifier/index.js';
import { rejection } from '../../../support/expectations.js';
import {
  id,
  rootAt,
  type WrittenLog,
  writeConsistency,
  writeLog,
  writeLogAnd,
} from '../../../support/rigs/writtenLog.js';

const ID = 17;
const NAMES = new Map([[String(ID), 'notes']]);
const log = writeLogAnd([1, [3, id(8)], [3, id(5)]]);
const SIZE = log.events.length;
/** A log of equal length that differs in its last two events. */
const other = writeLogAnd([1, [4, id(8)], [3, id(5)]]);

const entryOf = (size: number, of: WrittenLog = log): LogEntry => ({
  ...{ type: 'checkpoint', collectionId: ID, configHash: '', timeMs: 0, size, root: rootAt(of, size) },
  ...{ chainHead: '', stateHash: '', publicKey: '', signature: '' },
});

/** A service whose collection has the log `of`. */
class Served implements KeyHolder {
  readonly asked: string[] = [];
  names: ReadonlyMap<string, string> = NAMES;
  status = 200;

  constructor(private readonly of: WrittenLog) {}

  async ask(path: string): Promise<Answer> {
    this.asked.push(path);
    const url = new URL(path, 'http://service');
    if (url.pathname === '/v1/proof/checkpoint') return { status: 200, text: 'signed' };
    const [from, to] = ['from', 'to'].map((name) => Number(url.searchParams.get(name)) + 1) as [number, number];
    if (this.status !== 200) return { status: this.status, text: '{}' };
    if (to > this.of.events.length) return { status: 400, text: '{"code":"validation_error"}' };
    return { status: 200, text: JSON.stringify(writeConsistency(this.of, from, to)) };
  }

  listed = async (): Promise<ReadonlyMap<string, string>> => this.names;
}

describe('a monitor of the service log, with a key', () => {
  const checkpoints = toCompare(
    [3, 5, SIZE].map((size) => entryOf(size)),
    40,
    () => true,
    new Map(),
  );

  it('compares each logged checkpoint with the previous one', async () => {
    const last = new Map<string, SizeAndRoot>();
    const entries: LogEntry[] = [
      entryOf(3),
      { type: 'census', present: 1, missing: [], timeMs: 0 },
      { ...entryOf(4), collectionId: 99 } as LogEntry,
      entryOf(5),
    ];
    const found = toCompare(entries, 40, (one) => one === String(ID), last);
    expect(found.map(({ index, from, to }) => [index, from?.size, to.size])).to.deep.equal([
      [40, undefined, 3],
      [43, 3, 5],
    ]);
    expect(last.get(String(ID))).to.deep.equal({ size: 5, root: rootAt(log, 5) });
    const service = new Served(log);
    expect(await compare(checkpoints, NAMES, service)).to.deep.equal({ left: [], reason: undefined });
    expect(service.asked).to.have.members(
      ['from=2&to=2', 'from=2&to=4', `from=4&to=${SIZE - 1}`].map(
        (query) => `/v1/proof/consistency?collection=notes&${query}`,
      ),
    );
  });

  it('raises an alarm with the answer if the served log differs from the logged checkpoint', async () => {
    const forked = toCompare([entryOf(SIZE)], 7, () => true, new Map());
    const alarm = (await rejection(compare(forked, NAMES, new Served(other)))) as LogAlarm;
    expect(alarm).to.be.instanceOf(LogAlarm);
    expect(alarm.message).to.equal(
      `the log of the collection notes, id 17, is not the one that was logged as entry 7: its first ${SIZE} events have another root`,
    );
    expect(alarm.evidence.join(''))
      .to.include(rootAt(log, SIZE))
      .and.include(rootAt(other, SIZE))
      .and.include('signed');
    const short = await rejection(compare(forked, NAMES, new Served(writeLog())));
    expect(short.message).to.include(`it has no event ${SIZE - 1}`);
  });

  it('raises an alarm if two logged checkpoints belong to different histories', async () => {
    const both = toCompare([entryOf(SIZE - 1, other), entryOf(SIZE)], 7, () => true, new Map());
    for (const of of [log, other])
      expect(await rejection(compare(both, NAMES, new Served(of)))).to.be.instanceOf(LogAlarm);
  });

  it('postpones what cannot be compared yet', async () => {
    const busy = new Served(log);
    busy.status = 429;
    const outcome = await compare(checkpoints, NAMES, busy);
    expect(outcome).to.deep.equal({
      left: checkpoints,
      reason: 'the log of notes cannot be compared: the service answers 429',
    });
    for (const status of [404, 409]) {
      busy.status = status;
      expect(await compare(checkpoints, NAMES, busy)).to.deep.equal({ left: checkpoints, reason: undefined });
    }
    const renamed = new Served(other);
    renamed.names = new Map([['18', 'notes']]);
    const forked = checkpoints.slice(-1);
    expect((await compare(forked, NAMES, renamed)).left, 'another collection has the name').to.deep.equal(forked);
    expect((await compare(checkpoints, new Map(), busy)).left).to.deep.equal(checkpoints);
  });
});
