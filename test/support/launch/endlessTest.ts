/** Mocha runs this file in tests of test runs: a test that never ends, with every kind of child process. */
import { spawn } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { findNatsServer } from '../../../scripts/local/natsServer/find.js';
import { guarded } from '../../../scripts/local/supervisor/guarded.js';
import { freePort } from './freePort.js';
import { NatsServer } from './natsProcess.js';
import { launchNode } from './process.js';

/** A program that ignores SIGTERM. */
const STUBBORN = `process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); console.log('runs');`;

describe('a test that never ends', () => {
  it('has children', async () => {
    const dataDir = await mkdtemp(join(process.env.ENDLESS_FOLDER!, 'nats-'));
    const nats = await NatsServer.start({ binary: await findNatsServer(), dataDir, port: await freePort() });
    const launched = launchNode('-e', [STUBBORN]);
    await launched.waitForLine(/^runs$/);
    const detached = guarded(spawn(process.execPath, ['-e', STUBBORN], { stdio: 'ignore', detached: true }));
    console.log(`children ${[process.pid, nats.pid, launched.pid, detached.pid].join(' ')}`);
    await new Promise(() => setInterval(() => undefined, 1_000));
  }).timeout(0);
});
