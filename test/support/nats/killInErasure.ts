/** Ends a nats-server in the middle of an erasure, with the files that it leaves then. */
import { readFile, writeFile } from 'node:fs/promises';
import { connect } from 'nats';
import type { ClusterConnection } from '../../../shared/nats/natsConnection.js';
import type { TestNats } from '../launch/natsServer.js';
import { blockFile } from './natsBlocks.js';

/**
 * Kills the server during the next erasures in the stream. nats-server appends the record of a deletion to the block, and then
 * overwrites the message. So the file gets the bytes from before the erasure, and the record from after it. The returned function
 * waits for a kill that is under way, and resolves to their number.
 */
export function killInErasures(
  nats: TestNats,
  { jsm: { streams } }: ClusterConnection,
  stream: string,
  times: number,
): () => Promise<number> {
  const file = blockFile(nats.dataDir, stream);
  const deleteMessage = streams.deleteMessage.bind(streams);
  const ends: Promise<void>[] = [];
  const end = async (sequence: number): Promise<void> => {
    await nats.kill();
    const before = await readFile(file);
    await nats.start();
    const direct = await connect({ servers: nats.url });
    await (await direct.jetstreamManager()).streams.deleteMessage(stream, sequence, true);
    await direct.close();
    await nats.kill();
    await writeFile(file, Buffer.concat([before, (await readFile(file)).subarray(before.length)]));
    await nats.start();
  };
  streams.deleteMessage = async (name, sequence, erase) => {
    if (name !== stream || ends.length >= times) return deleteMessage(name, sequence, erase);
    const ending = end(sequence);
    ends.push(ending);
    await ending;
    throw new Error('the server was killed');
  };
  return async () => (await Promise.all(ends)).length;
}
