/** Answers from the bytes of a connection with one request at a time. */
export interface RawAnswer {
  readonly status: number;
  readonly body: string;
  /** Head and body. */
  readonly whole: string;
}

/** Undefined until the whole answer is received. Needs ASCII and a Content-Length, like the service's answers. */
export function rawAnswer(received: string): RawAnswer | undefined {
  const headEnd = received.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const head = received.slice(0, headEnd);
  const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
  const bodyStart = headEnd + 4;
  if (received.length < bodyStart + length) return undefined;
  return { status: Number(head.slice(9, 12)), body: received.slice(bodyStart), whole: received };
}
