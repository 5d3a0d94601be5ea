import { get } from 'node:http';
import { get as getByTls } from 'node:https';
import { text } from 'node:stream/consumers';

export interface Page {
  readonly status: number;
  readonly body: string;
}

/**
 * Gets a page of a process of this machine; undefined where it does not come in time. Uses a connection of its own, which
 * delays no stop. The certificate is for another name than the loopback address.
 */
export function getPage(url: string, timeoutMs: number): Promise<Page | undefined> {
  return new Promise((resolve) => {
    const fail = (): void => resolve(undefined);
    const options = { agent: false, timeout: timeoutMs, rejectUnauthorized: false } as const;
    const request = (url.startsWith('https:') ? getByTls : get)(url, options, (response) => {
      text(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), fail);
    });
    request.once('timeout', () => request.destroy());
    request.once('error', fail);
  });
}
