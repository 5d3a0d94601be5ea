/** Connection of one process to the NATS servers, through a proxy per server, so that it can be cut. */
import { startProxy, type TcpProxy } from './tcpProxy.js';

/**
 * refused: connections break, and new ones too; silent: all traffic is lost, without an error; answers lost: only
 * answers are.
 */
export type Cut = 'refused' | 'silent' | 'answers lost';

export class NatsWay {
  private constructor(private readonly proxies: readonly TcpProxy[]) {}

  static async open(host: string, ports: readonly number[]): Promise<NatsWay> {
    return new NatsWay(await Promise.all(ports.map((port) => startProxy(host, port))));
  }

  /** Value of `VOUCH_NATS_URL`. */
  get url(): string {
    return this.proxies.map(({ port }) => `nats://127.0.0.1:${port}`).join(',');
  }

  cut(how: Cut): void {
    for (const proxy of this.proxies) {
      if (how === 'refused') proxy.cut();
      else proxy.lose(how === 'silent' ? 'everything' : 'answers');
    }
  }

  heal(): void {
    for (const proxy of this.proxies) proxy.reset();
  }

  async close(): Promise<void> {
    await Promise.all(this.proxies.map((proxy) => proxy.close()));
  }
}
