/** Requests with one key; any answer is returned. */

export interface Answered {
  readonly status: number;
  readonly bytes: Buffer;
}

/** A body: an object is sent as JSON, a text is ready JSON, bytes have the given `type`. */
export type Body = object | string | Uint8Array;

export class Asker {
  constructor(
    private readonly url: string,
    private readonly key: string,
  ) {}

  get(path: string): Promise<Answered> {
    return this.ask('GET', path);
  }

  post(path: string, body: Body, type?: string): Promise<Answered> {
    return this.ask('POST', path, body, type);
  }

  async ask(method: string, path: string, body?: Body, type?: string): Promise<Answered> {
    const headers: Record<string, string> = { authorization: `Bearer ${this.key}` };
    if (body !== undefined)
      headers['content-type'] = type ?? (body instanceof Uint8Array ? 'application/octet-stream' : 'application/json');
    const sent =
      body === undefined || typeof body === 'string'
        ? body
        : body instanceof Uint8Array
          ? new Uint8Array(body)
          : JSON.stringify(body);
    const response = await fetch(this.url + path, { method, headers, ...(sent === undefined ? {} : { body: sent }) });
    return { status: response.status, bytes: Buffer.from(await response.arrayBuffer()) };
  }
}

/** The JSON of an answer. Throws if it is not 200. */
export function taken<T>({ status, bytes }: Answered): T {
  if (status !== 200) throw new Error(`answered ${status}: ${bytes.toString('utf8').slice(0, 300)}`);
  return JSON.parse(bytes.toString('utf8')) as T;
}
