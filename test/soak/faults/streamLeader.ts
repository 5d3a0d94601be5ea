import { connect } from 'nats';
import { loginOptions } from '../../../shared/nats/natsLogin.js';
import type { SoakCluster } from '../cluster/soakCluster.js';

/** The NATS server that leads a stream; undefined without a leader. */
export async function streamLeader(
  cluster: Pick<SoakCluster, 'natsUrls' | 'loginAs'>,
  stream: string,
): Promise<string | undefined> {
  const login = await loginOptions(cluster.loginAs('admin'));
  const connection = await connect({ servers: [...cluster.natsUrls], ...login });
  try {
    const info = await (await connection.jetstreamManager()).streams.info(stream);
    return info.cluster?.leader;
  } catch {
    // Without a leader, no server answers for the stream.
    return undefined;
  } finally {
    await connection.close();
  }
}
