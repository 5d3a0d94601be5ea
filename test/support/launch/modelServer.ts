/** Models behind the API of OpenAI: embeddings that count words, and a chat that repeats the message of the system. */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

const DIMENSION = 256;

interface Asked {
  readonly input?: readonly string[];
  readonly messages?: readonly { readonly content: string }[];
}

export class ModelServer {
  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async start(): Promise<ModelServer> {
    const server = createServer((request, response) => {
      void answerTo(request).then((answer) => response.end(JSON.stringify(answer)));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new ModelServer(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  }

  close(): Promise<void> {
    return new Promise((resolve) => this.server.close(() => resolve()));
  }
}

async function answerTo(request: IncomingMessage): Promise<object> {
  const { input = [], messages = [] } = (await json(request)) as Asked;
  return request.url === '/v1/embeddings'
    ? { data: input.map((text) => ({ embedding: countsOf(text) })) }
    : { choices: [{ message: { content: messages[0]!.content } }] };
}

/** Each word counts in the component that its letters choose. */
function countsOf(text: string): number[] {
  const counts = Array<number>(DIMENSION).fill(0);
  for (const word of text.toLowerCase().match(/[a-z0-9]+/g) ?? []) {
    let at = 7;
    for (const letter of word) at = (31 * at + letter.charCodeAt(0)) % DIMENSION;
    counts[at]! += 1;
  }
  return counts;
}
