// Covers: shared/bucket/natsMarks.ts, shared/bucket/natsStream.ts, shared/nats/natsDelivery.ts
/** A watch of a JetStream bucket over a scripted delivery. */
import { expect } from 'chai';
import type { Msg } from 'nats';
import type { Change } from '../../../../shared/bucket/bucket.js';
import { NatsWatch, type WatchedBucket } from '../../../../shared/bucket/natsWatch.js';
import { systemClock } from '../../../../shared/clock.js';
import { silentLogger } from '../../../../shared/logger.js';
import type { ClusterConnection } from '../../../../shared/nats/natsConnection.js';
import { eventually, expectCode } from '../../../support/expectations.js';

type Take = (error: Error | null, message: Msg) => void;

/** A connection to a scripted server, which has `entries` entries when a delivery begins. */
class Script {
  /** Number of deliveries that have begun. */
  begun = 0;
  entries = 0;
  /** Whether the leader still has the entries that it is asked for. */
  isThere = true;
  #take: Take = () => undefined;
  #delivered = 0;
  readonly #onBreak = new Set<() => void>();

  readonly bucket = {
    options: { name: 'b', ttlMs: undefined },
    connection: {
      ...{ connected: true, closed: false, clock: systemClock, logger: silentLogger, api: '$JS.API' },
      newInbox: () => 'inbox',
      call: <T>(work: () => Promise<T>) => work(),
      untilConnected: async () => undefined,
      everySecond: () => () => undefined,
      down: () => new Error('the connection is down'),
      onChange: (listener: () => void) => {
        this.#onBreak.add(listener);
        return () => this.#onBreak.delete(listener);
      },
      nc: {
        publish: () => undefined,
        subscribe: (_: string, { callback }: { callback: Take }) => {
          this.#take = callback;
          return { unsubscribe: () => undefined };
        },
      },
      jsm: { consumers: { add: async () => this.#begin() } },
    } as unknown as ClusterConnection,
    find: async () => (this.isThere ? {} : undefined),
    parse: (_: string, bytes: Uint8Array) => JSON.parse(new TextDecoder().decode(bytes)) as number,
    mark: async () => Number.MAX_SAFE_INTEGER,
  } satisfies WatchedBucket;

  break(): void {
    for (const listener of this.#onBreak) listener();
  }

  /** Delivers an entry, or its deletion. */
  deliver(key: string, sequence: number, value: number | undefined, pending = 0): void {
    const data = new TextEncoder().encode(value === undefined ? '' : String(value));
    const reply = `$JS.ACK.s.c.1.${sequence}.${++this.#delivered}.0.${pending}`;
    this.#take(null, { subject: `$KV.b.${key}`, reply, data } as unknown as Msg);
  }

  #begin(): object {
    this.begun++;
    this.#delivered = 0;
    return { name: 'c', num_pending: this.entries, delivered: { consumer_seq: 0 } };
  }
}

describe('a watch of a JetStream bucket', () => {
  const changes: [string, number | undefined][] = [];
  const listener = ({ key, entry }: Change): void => void changes.push([key, entry?.value as number | undefined]);
  let script: Script;
  beforeEach(() => {
    changes.length = 0;
    script = new Script();
  });

  it('is not restarted by callers of caughtUp while it catches up', async () => {
    const watch = await NatsWatch.start(script.bucket, listener);
    script.entries = 2;
    script.break();
    await eventually('the watch restarts', () => script.begun === 2);
    script.deliver('a', 1, 1, 1);
    await eventually('the first change arrives', () => changes.length === 1);
    await expectCode(watch.caughtUp(), 'unavailable');
    script.deliver('b', 2, 2);
    await eventually('the second change arrives', () => changes.length === 2);
    expect([script.begun, changes]).to.deep.equal([
      2,
      [
        ['a', 1],
        ['b', 2],
      ],
    ]);
    await expectCode(watch.caughtUp(), 'unavailable');
    await eventually('a watch that has caught up and receives no mark restarts', () => script.begun === 3);
    watch.stop();
  });

  for (const isThere of [false, true])
    it(`after a restart ${isThere ? 'reports' : 'skips'} entries below the last sequence if the leader ${isThere ? 'has' : 'lacks'} them`, async () => {
      const watch = await NatsWatch.start(script.bucket, listener);
      script.deliver('a', 10, 1);
      script.deliver('a', 20, undefined);
      await eventually('both changes arrive', () => changes.length === 2);
      Object.assign(script, { isThere, entries: 1 });
      script.break();
      await eventually('the watch restarts', () => script.begun === 2);
      script.deliver('a', 10, 1);
      script.deliver('a', 12, 2);
      script.deliver('b', 21, 3);
      await eventually('the next change arrives', () => changes.at(-1)?.[0] === 'b');
      const again = [
        ['a', 1],
        ['a', 2],
      ];
      expect(changes.slice(2)).to.deep.equal([...(isThere ? again : []), ['b', 3]]);
      watch.stop();
    });

  it('reports the deletion of an entry that came and went during an interruption', async () => {
    const watch = await NatsWatch.start(script.bucket, listener);
    script.entries = 1;
    script.break();
    await eventually('the watch restarts', () => script.begun === 2);
    script.deliver('a', 2, undefined);
    await eventually('the change arrives', () => changes.length === 1);
    expect(changes).to.deep.equal([['a', undefined]]);
    watch.stop();
  });
});
