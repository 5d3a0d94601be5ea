/** Files of a local log: readers return written frames in order, or nothing. */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LOG_START, LogDamaged } from '../../../shared/log/eventLog.js';
import { LocalLogs } from '../../../shared/log/segments.js';
import { writeLog } from '../../support/rigs/writtenLog.js';
import type { FuzzTarget } from '../target.js';

const ID = 17;
const FOREVER_MS = Number.POSITIVE_INFINITY;

export const segments: FuzzTarget = {
  name: 'segments',
  open: async () => {
    const folder = await mkdtemp(join(tmpdir(), 'vouch-fuzz-log-'));
    const written = writeLog().frames.map(({ bytes }) => bytes);
    const first = await LocalLogs.open({ folder: join(folder, 'written') });
    const log = await first.open(ID);
    let position = LOG_START;
    for (const frame of written) position = await log.append(frame, position, FOREVER_MS);
    await first.close();
    const [segment = ''] = await readdir(join(folder, 'written', String(ID), 'log'));
    const sample = await readFile(join(folder, 'written', String(ID), 'log', segment));

    const read = async (input: Uint8Array, at: string): Promise<Uint8Array[]> => {
      await mkdir(join(at, String(ID), 'log'), { recursive: true });
      await writeFile(join(at, String(ID), 'log', segment), input);
      const logs = await LocalLogs.open({ folder: at });
      try {
        const frames: Uint8Array[] = [];
        for await (const { bytes } of (await logs.open(ID)).read(LOG_START)) frames.push(bytes);
        return frames;
      } finally {
        await logs.close();
        await rm(at, { recursive: true, force: true });
      }
    };

    return {
      samples: [sample],
      tryOne: async (input) => {
        let frames: Uint8Array[];
        try {
          frames = await read(input, join(folder, 'read'));
        } catch (error) {
          if (error instanceof LogDamaged) return 'refused';
          throw error;
        }
        if (frames.some((frame, i) => written[i] === undefined || Buffer.compare(frame, written[i]) !== 0))
          throw new Error('the reader returns a frame that was not written there');
        return frames.length === written.length ? 'taken' : 'refused';
      },
      close: () => rm(folder, { recursive: true, force: true }),
    };
  },
};
