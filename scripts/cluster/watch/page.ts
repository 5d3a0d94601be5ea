import { get } from 'node:http';

/** A page is made in a few milliseconds; whoever takes longer than this is as good as down for the view. */
const ANSWER_MS = 900;

/** The text of a page; undefined where it is not to be had in time. A connection of its own each time: none holds up a stop. */
export function readPage(url: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const request = get(url, { agent: false, timeout: ANSWER_MS }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.once('end', () => resolve(response.statusCode === 200 ? text : undefined));
      response.once('error', () => resolve(undefined));
    });
    request.once('timeout', () => request.destroy());
    request.once('error', () => resolve(undefined));
  });
}
