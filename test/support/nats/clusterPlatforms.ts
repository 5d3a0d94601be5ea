import { silentLogger } from '../../../shared/logger.js';
import { type ClusterOptions, type ClusterPlatform, openCluster } from '../../../shared/platform/natsPlatform.js';

/** Opens the platforms of a test, each with a connection like another process, and closes all of them together. */
export class ClusterPlatforms {
  readonly #opened: ClusterPlatform[] = [];

  async open(url: string, options: Partial<ClusterOptions> = {}): Promise<ClusterPlatform> {
    const defaults = { url, role: 'admin' as const, name: 'test', logger: silentLogger, replicas: 1, logStreams: 2 };
    const platform = await openCluster({ ...defaults, ...options });
    this.#opened.push(platform);
    return platform;
  }

  async close(): Promise<void> {
    await Promise.all(this.#opened.splice(0).map((platform) => platform.close()));
  }
}
