/**
 * Damage in the files in which nats-server stores logs. It cuts a block off at the first message that does not verify,
 * and continues as if that were the end. Several collections lose their answered end at once, and the rest verifies.
 */
import { cp, mkdtemp, readdir, rm, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { BUCKETS } from '../../shared/bucket/buckets.js';
import { Fenced } from '../../shared/log/eventLog.js';
import { logStream } from '../../shared/transport/subjects.js';
import { expectCode } from '../support/expectations.js';
import { startTestNats, type TestNats } from '../support/launch/natsServer.js';
import { ClusterPlatforms } from '../support/nats/clusterPlatforms.js';
import { blockFile, flipBit, type StoredMessage, storedMessages, streamFolder } from '../support/nats/natsBlocks.js';
import { configOf, Engine, type TestCollection } from '../support/rigs/engine.js';

const IDS = [1, 2, 3];
const WRITES = 4;
const LOG = logStream(0);
const NOTES = `KV_${BUCKETS.watermarks}`;
const ALL_WHOLE = IDS.map(() => 'whole');

describe('damaged files of nats-server', () => {
  const platforms = new ClusterPlatforms();
  let nats: TestNats;
  let saved: string;

  before(async () => {
    nats = await startTestNats();
    saved = await mkdtemp(join(tmpdir(), 'vouch-blocks-'));
  });
  after(async () => {
    await nats?.stop();
    await rm(saved, { recursive: true, force: true });
  });

  /** The collections in a shard that starts now. */
  const engine = async (): Promise<Engine> => {
    const platform = await platforms.open(nats.url, { logStreams: 1 });
    return new Engine(platform.logs, { reached: await platform.bucket(BUCKETS.watermarks) });
  };
  const close = async ({ context }: Engine): Promise<void> => {
    await context.pasts.end();
    await platforms.close();
  };
  /** Whether the next insert succeeds: a server with a damaged message of another collection may refuse it. */
  const takesNext = async (collection: TestCollection): Promise<string> => {
    try {
      expect((await collection.insert([1, 1])).id).to.equal(WRITES + 1);
      return 'whole';
    } catch (error) {
      expect(error).to.be.instanceOf(Fenced);
      return 'read';
    }
  };
  /** Outcome for each collection: all answered writes and the next number, or no answer and a report. */
  const served = async (): Promise<string[]> => {
    const shard = await engine();
    const outcomes: string[] = [];
    for (const id of IDS) {
      const collection = shard.host(configOf(id));
      const found = await collection.found().catch(() => undefined);
      if (found === undefined) {
        await expectCode(collection.found(), 'internal_error');
        outcomes.push('reported');
        continue;
      }
      expect(found.sort()).to.deep.equal(Array.from({ length: WRITES }, (_, i) => i + 1));
      outcomes.push(await takesNext(collection));
    }
    const reported = shard.context.damages.reported().map(({ collectionId, part }) => `${collectionId} ${part}`);
    expect(reported).to.deep.equal(IDS.filter((_, i) => outcomes[i] === 'reported').map((id) => `${id} log`));
    await close(shard);
    return outcomes;
  };
  /** Outcomes after this damage to the saved files. */
  const servedAfter = async (damage: () => Promise<unknown>): Promise<string[]> => {
    await nats.shutDown();
    await rm(join(nats.dataDir, 'store'), { recursive: true });
    await cp(saved, join(nats.dataDir, 'store'), { recursive: true });
    await damage();
    await nats.start();
    return served();
  };

  for (const [end, how] of [
    ['kill', 'was killed'],
    ['shutDown', 'was stopped'],
  ] as const)
    describe(`after the server ${how}`, () => {
      const log = (): string => blockFile(nats.dataDir, LOG);

      before(async () => {
        await nats.shutDown();
        await rm(join(nats.dataDir, 'store'), { recursive: true, force: true });
        await nats.start();
        const shard = await engine();
        const collections = IDS.map((id) => shard.host(configOf(id)));
        for (let n = 0; n < WRITES; n++) for (const collection of collections) await collection.insert([n, n]);
        for (const { hosted } of collections) await hosted.close({ keep: true });
        await close(shard);
        await nats[end]();
        await rm(saved, { recursive: true, force: true });
        await cp(join(nats.dataDir, 'store'), saved, { recursive: true });
        await nats.start();
      });

      it('lose no answered write unreported, if a message of a log is damaged', async () => {
        const stored = await storedMessages(join(saved, 'jetstream', '$G', 'streams', LOG, 'msgs', '1.blk'));
        expect(stored).to.have.length(IDS.length * WRITES);
        const damages: [string, (message: StoredMessage) => Promise<void>][] = [
          ['length', ({ length }) => flipBit(log(), length)],
          ['sequence', ({ sequence }) => flipBit(log(), sequence)],
          ['subject', ({ subject }) => flipBit(log(), subject)],
          ['length of the headers', ({ headers }) => flipBit(log(), headers)],
          ['body', ({ body }) => flipBit(log(), body + 20)],
          ['checksum', ({ checksum }) => flipBit(log(), checksum)],
          ['cut off within', ({ body }) => truncate(log(), body + 20)],
        ];
        for (const at of [0, 4, stored.length - 1])
          for (const [what, damage] of damages) {
            const outcomes = await servedAfter(() => damage(stored[at]!));
            expect(outcomes, `${what} of message ${at}`).to.include('reported');
          }
      });

      it('are rebuilt by the server if possible, and everything is served', async () => {
        const folder = streamFolder(nats.dataDir, LOG);
        const saving = join(saved, 'jetstream', '$G', 'streams', LOG, 'msgs');
        const made = (await readdir(saving)).filter((name) => !name.endsWith('.blk')).map((name) => join('msgs', name));
        const damages = [
          (path: string) => flipBit(path, 5),
          (path: string) => truncate(path, 5),
          (path: string) => rm(path),
        ];
        for (const name of [...made, 'meta.inf', 'meta.sum'])
          for (const damage of damages)
            expect(await servedAfter(() => damage(join(folder, name))), name).to.deep.equal(ALL_WHOLE);
      });

      it('are reported for logs and rewritten for notes, if all messages of the stream are gone', async () => {
        for (const name of [join('msgs', '1.blk'), 'msgs', '.']) {
          const remove = (stream: string) => () =>
            rm(join(streamFolder(nats.dataDir, stream), name), { recursive: true });
          expect(await servedAfter(remove(LOG)), name).to.deep.equal(IDS.map(() => 'reported'));
          expect(await servedAfter(remove(NOTES)), name).to.deep.equal(ALL_WHOLE);
        }
      });
    });
});
