/** Gets pages of processes on this machine: health, metrics and the status of NATS servers. */
import { get } from 'node:http';
import { get as getByTls } from 'node:https';

/** Longest page; health and metrics are far shorter. */
const PAGE_CHARS_MAX = 16 * 1024 * 1024;

export interface Page {
  readonly status: number;
  readonly body: string;
}

/**
 * Gets a page of a process of this machine; undefined if it does not arrive whole in time. Uses a connection of its own, which
 * delays no stop. Does not use `fetch`, which would refuse the certificate: it is not for the loopback address.
 */
export function getPage(url: string, timeoutMs: number): Promise<Page | undefined> {
  return new Promise((resolve) => {
    const end = (page?: Page): void => {
      clearTimeout(timer);
      resolve(page);
      request.destroy();
    };
    const fail = (): void => end();
    // The time-out of a request bounds only the time without data.
    const timer = setTimeout(fail, timeoutMs);
    const options = { agent: false, rejectUnauthorized: false } as const;
    const request = (url.startsWith('https:') ? getByTls : get)(url, options, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        body += chunk;
        if (body.length > PAGE_CHARS_MAX) fail();
      });
      response.once('end', () => end({ status: response.statusCode ?? 0, body }));
      response.once('close', fail);
    });
    request.once('error', fail);
  });
}
