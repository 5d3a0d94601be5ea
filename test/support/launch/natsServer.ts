/** A real nats-server for tests: on a free port, over its own folder, killed and restarted at will. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'nats';
import { findNatsServer } from '../../../scripts/local/natsServer/find.js';
import { freePort } from './freePort.js';
import { NatsServer } from './natsProcess.js';

export interface TestNats {
  /** Unchanged by restarts. */
  readonly url: string;
  readonly dataDir: string;
  /** Restarts it after `kill` or `shutDown`, over the same data. */
  start(): Promise<void>;
  /** kill -9. */
  kill(): Promise<void>;
  /** SIGTERM, and waits for its end. */
  shutDown(): Promise<void>;
  /** Deletes every stream and bucket. */
  erase(): Promise<void>;
  /** Stops it and deletes its data. */
  stop(): Promise<void>;
}

export async function startTestNats(): Promise<TestNats> {
  const binary = await findNatsServer();
  const dataDir = await mkdtemp(join(tmpdir(), 'vouch-nats-'));
  const port = await freePort();
  const start = (): Promise<NatsServer> => NatsServer.start({ binary, dataDir, port });
  let server = await start();
  return {
    url: server.url,
    dataDir,
    start: async () => {
      server = await start();
    },
    kill: () => server.kill(),
    shutDown: () => server.stop(),
    erase: () => eraseStreams(server.url),
    stop: async () => {
      await server.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

async function eraseStreams(url: string): Promise<void> {
  const nc = await connect({ servers: url });
  const jsm = await nc.jetstreamManager();
  for await (const name of jsm.streams.names()) await jsm.streams.delete(name);
  await nc.close();
}
