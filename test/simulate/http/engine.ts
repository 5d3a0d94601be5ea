/** The HTTP engine of a simulated coordinator: a request arrives over the simulated network, whole and parsed. */
import type {
  Address,
  EngineRequest,
  EngineResponse,
  HttpEngine,
  Listening,
  TakeRequest,
} from '../../../coordinator/http/engine/engine.js';
import type { Party } from '../world/party.js';
import type { World } from '../world/world.js';

/** Request of a client. */
export interface SentRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface HttpAnswer {
  readonly status: number;
  readonly body: Buffer;
}

/** One request at a coordinator: it is answered, its connection breaks, or its client goes away. */
export interface Exchange {
  answered(answer: HttpAnswer): void;
  broken(): void;
}

/** Listening simulated coordinators: machine and port → request handler. */
export class HttpPorts {
  readonly #taking = new Map<string, { readonly party: Party; readonly take: TakeRequest }>();

  constructor(private readonly world: World) {}

  /** Engine of the process that runs now. */
  engine(): HttpEngine {
    const { party } = this.world;
    const taking = this.#taking;
    return {
      name: 'node:http',
      awaitContinue: () => undefined,
      listen: async (take: TakeRequest, { host, port }: Address): Promise<Listening> => {
        const address = `${host}:${port}`;
        const own = { party, take };
        taking.set(address, own);
        const stop = (): void => {
          if (taking.get(address) === own) taking.delete(address);
        };
        return { port, stopListening: stop, close: stop };
      },
    };
  }

  /** The process that listens at the address; undefined: a connection is refused. */
  partyAt(address: string): Party | undefined {
    const party = this.#taking.get(address)?.party;
    return party?.alive === true ? party : undefined;
  }

  /** Call it in the listening process. The returned function reports that the client has gone. */
  take(address: string, request: SentRequest, exchange: Exchange): () => void {
    const taking = this.#taking.get(address);
    if (taking === undefined) {
      exchange.broken();
      return () => undefined;
    }
    const response = new SimulatedResponse(request.body, exchange);
    taking.take(response, headOf(request));
    response.handlerReturned();
    return () => response.clientGone();
  }
}

const headOf = ({ method, path, query, headers }: SentRequest): EngineRequest => ({
  getCaseSensitiveMethod: () => method,
  getUrl: () => path,
  getQuery: () => query,
  forEach: (visit) => {
    for (const [name, value] of Object.entries(headers)) visit(name, value);
  },
});

class SimulatedResponse implements EngineResponse {
  #status = 200;
  #isOver = false;
  #onAborted: (() => void) | undefined;
  #onData: ((chunk: ArrayBuffer, isLast: boolean) => void) | undefined;

  constructor(
    private readonly body: Buffer,
    private readonly exchange: Exchange,
  ) {}

  handlerReturned(): void {
    const { buffer, byteOffset, byteLength } = this.body;
    this.#onData?.(buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer, true);
  }

  clientGone(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#onAborted?.();
  }

  onAborted(listener: () => void): void {
    this.#onAborted = listener;
  }

  onData(listener: (chunk: ArrayBuffer, isLast: boolean) => void): void {
    this.#onData = listener;
  }

  pause(): void {}

  resume(): void {}

  getRemoteAddress(): ArrayBuffer {
    return new Uint8Array([10, 0, 2, 1]).buffer;
  }

  cork(write: () => void): void {
    write();
  }

  writeStatus(status: string): void {
    this.#status = Number(status.slice(0, 3));
  }

  writeHeader(): void {}

  end(body: string | Uint8Array): void {
    this.#answer(Buffer.from(body as Uint8Array));
  }

  endWithoutBody(): void {
    this.#answer(Buffer.alloc(0));
  }

  tryEnd(body: Uint8Array): [sent: boolean, done: boolean] {
    this.#answer(Buffer.from(body));
    return [true, true];
  }

  getWriteOffset(): number {
    return 0;
  }

  onWritable(): void {}

  close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.exchange.broken();
    this.#onAborted?.();
  }

  #answer(body: Buffer): void {
    if (this.#isOver) throw new Error('the answer is touched after it was sent');
    this.#isOver = true;
    this.exchange.answered({ status: this.#status, body });
  }
}
