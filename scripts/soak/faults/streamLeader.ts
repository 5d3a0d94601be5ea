import { connect } from 'nats';

/** The NATS server that leads a stream; undefined while none does. */
export async function streamLeader(natsUrl: string, stream: string): Promise<string | undefined> {
  const connection = await connect({ servers: natsUrl.split(',') });
  try {
    const { cluster } = await (await connection.jetstreamManager()).streams.info(stream);
    return cluster?.leader;
  } catch {
    // While there is no leader, nobody answers for the stream.
    return undefined;
  } finally {
    await connection.close();
  }
}
