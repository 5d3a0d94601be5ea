/** A plain HTTP client. */

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly bytes: Buffer;
  /** Parsed JSON body, or null. Tests read the fields that they expect. */
  // biome-ignore lint/suspicious/noExplicitAny: a test asserts the shape right after reading it
  readonly body: any;
}

type Extra = Readonly<Record<string, string>>;

export class Client {
  constructor(
    readonly url: string,
    readonly key: string | undefined,
  ) {}

  get(path: string, headers?: Extra): Promise<Answer> {
    return this.raw('GET', path, undefined, headers);
  }

  post(path: string, body: unknown, headers?: Extra): Promise<Answer> {
    return this.raw('POST', path, JSON.stringify(body), headers);
  }

  put(path: string, body: unknown): Promise<Answer> {
    return this.raw('PUT', path, JSON.stringify(body));
  }

  patch(path: string, body: unknown): Promise<Answer> {
    return this.raw('PATCH', path, JSON.stringify(body));
  }

  delete(path: string): Promise<Answer> {
    return this.raw('DELETE', path, undefined);
  }

  /** Posts bytes unchanged. */
  postBytes(path: string, body: Uint8Array): Promise<Answer> {
    return this.raw('POST', path, body, { 'content-type': 'application/octet-stream' });
  }

  async raw(method: string, path: string, body: string | Uint8Array | undefined, headers: Extra = {}): Promise<Answer> {
    const response = await fetch(this.url + path, {
      method,
      headers: { ...this.headersOf(body), ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : new Uint8Array(body) }),
    });
    const bytes = Buffer.from(await response.arrayBuffer());
    const text = bytes.toString('utf8');
    return { status: response.status, headers: response.headers, text, bytes, body: jsonOf(text) };
  }

  protected headersOf(body: unknown): Extra {
    return {
      ...(this.key === undefined ? {} : { authorization: `Bearer ${this.key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    };
  }
}

export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
