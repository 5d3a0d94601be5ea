/** An HTTP client that connects from a chosen address. */
import { Agent, request } from 'node:http';
import { type Answer, Client, jsonOf } from './client.js';

/** Whether every address of 127.0.0.0/8 belongs to this machine; other systems have only 127.0.0.1. */
export const HAS_ADDRESSES = process.platform === 'linux';

/** Maps each number from 0 to 2^24 - 2 to its own address `127.<a>.<b>.<c>`, never 127.0.0.0. */
export const loopbackAddress = (number: number): string => {
  const host = number + 1;
  return `127.${(host >> 16) & 0xff}.${(host >> 8) & 0xff}.${host & 0xff}`;
};

/** A client that connects from `address`. */
export class AddressedClient extends Client {
  readonly #agent: Agent;

  constructor(
    url: string,
    key: string | undefined,
    readonly address: string,
  ) {
    super(url, key);
    this.#agent = new Agent({ keepAlive: true, maxSockets: 1, localAddress: address });
  }

  override raw(
    method: string,
    path: string,
    body: string | Uint8Array | undefined,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    const all = { ...this.headersOf(body), ...headers };
    return new Promise((resolve, reject) => {
      const sent = request(this.url + path, { method, agent: this.#agent, headers: all }, async (response) => {
        try {
          const bytes = Buffer.concat(await response.toArray());
          const text = bytes.toString('utf8');
          const received = Object.entries(response.headers).map(([name, value]): [string, string] => [
            name,
            `${value}`,
          ]);
          resolve({
            ...{ status: response.statusCode!, headers: new Headers(received), text, bytes, body: jsonOf(text) },
          });
        } catch (error) {
          reject(error);
        }
      });
      sent.on('error', reject).end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
