/** HTTP by uWebSockets.js. Two packages have its binaries, for different machines. */
import type * as Uws from 'uWebSockets.js';
import { messageOf } from '../../../shared/errors/errors.js';
import { type Address, type EngineResponse, HEAD_BYTES_MAX, type HttpEngine, type TakeRequest } from './engine.js';
import { whyNotListening } from './listenError.js';

/** The used part of the native module; the types of the packages lack the constant and the calls below. */
interface UwsModule extends Pick<typeof Uws, 'us_listen_socket_close' | 'us_socket_local_port'> {
  readonly App: () => UwsApp;
  readonly SSLApp: (files: { readonly cert_file_name: string; readonly key_file_name: string }) => UwsApp;
  readonly LIBUS_LISTEN_EXCLUSIVE_PORT: number;
}

interface UwsApp extends Omit<Uws.TemplatedApp, 'listen' | 'any'> {
  any(pattern: string, take: TakeRequest): void;
  listen(host: string, port: number, options: number, cb: (socket: Uws.us_listen_socket | false) => void): void;
  /** Hands new connections to other apps of this process, in turns. */
  addChildAppDescriptor(app: Descriptor): void;
  removeChildAppDescriptor(app: Descriptor): void;
  getDescriptor(): Descriptor;
}

/** Reference to an app, for other apps. */
type Descriptor = number;

/** SO_REUSEPORT, the library's default. */
const SHARED_PORT = 0;

/** Packages with binaries: the first for Node 20 and 22 and any glibc, the second for Node 24 and 25 and glibc from 2.38 on. */
const PACKAGES: readonly (() => Promise<unknown>)[] = [
  () => import('uWebSockets.js'),
  () => import('@btc-vision/uwebsockets.js'),
];

/** Throws an Error of one line if neither package has a binary that loads here. */
export async function loadUws(): Promise<HttpEngine> {
  const reasons: string[] = [];
  // Read by the library while it loads: browsers and proxies send more than its own bound of 4 KiB.
  process.env.UWS_HTTP_MAX_HEADERS_SIZE = String(HEAD_BYTES_MAX);
  for (const load of PACKAGES)
    try {
      return engineOf((await load()) as UwsModule);
    } catch (error) {
      reasons.push(reasonOf(error));
    }
  throw new Error(reasons.join('; '));
}

/** The loader's line, which the packages put behind their own explanation. */
function reasonOf(error: unknown): string {
  const message = messageOf(error);
  return /^Error: (.*)$/m.exec(message)?.[1] ?? message;
}

function engineOf(uws: UwsModule): HttpEngine {
  return {
    name: 'uWebSockets.js',
    awaitContinue,
    listen: async (take, address, tls) => {
      const newApp = (): UwsApp => {
        const app = tls ? uws.SSLApp({ cert_file_name: tls.certFile, key_file_name: tls.keyFile }) : uws.App();
        app.any('/*', take);
        return app;
      };
      const app = newApp();
      const socket = await listen(uws, app, address);
      /** Apps with renewed certificates. An app reads its certificate once: the first app listens, and the newest one serves. */
      const renewed: UwsApp[] = [];
      tls?.onRenewed(() => {
        const next = newApp();
        app.addChildAppDescriptor(next.getDescriptor());
        // Connections of the removed app continue.
        const before = renewed.at(-1);
        if (before !== undefined) app.removeChildAppDescriptor(before.getDescriptor());
        renewed.push(next);
      });
      return {
        port: uws.us_socket_local_port(socket),
        stopListening: () => uws.us_listen_socket_close(socket),
        close: () => {
          for (const one of [app, ...renewed]) one.close();
        },
      };
    },
  };
}

/** The only spelling that the library knows. It then asks for the body before the request handler runs. */
const ASKED_BY_LIBRARY = '100-continue';

/**
 * Sends an interim answer, for which the library has no call: it writes one status line a request. Here that line is the
 * interim one, and the final one precedes the first header. Every answer has a header.
 */
function awaitContinue(res: EngineResponse, expectation: string): void {
  if (expectation === ASKED_BY_LIBRARY) return;
  const writeStatus = res.writeStatus.bind(res);
  const writeHeader = res.writeHeader.bind(res);
  res.writeContinue = () => {
    res.writeContinue = undefined;
    res.cork(() => writeStatus('100 Continue\r\n'));
    let statusLine = '';
    res.writeStatus = (status) => {
      statusLine = `HTTP/1.1 ${status}\r\n`;
    };
    res.writeHeader = (name, value) => {
      writeHeader(statusLine + name, value);
      statusLine = '';
    };
  };
}

/** Without the exclusive option a second server would silently share the port. */
async function listen(
  uws: UwsModule,
  app: UwsApp,
  { host, port, sharePort = false }: Address,
): Promise<Uws.us_listen_socket> {
  const options = sharePort ? SHARED_PORT : uws.LIBUS_LISTEN_EXCLUSIVE_PORT;
  const socket = await new Promise<Uws.us_listen_socket | false>((resolve) => {
    app.listen(host, port, options, resolve);
  });
  // uWebSockets.js gives no reason; Node does.
  if (socket === false) throw await whyNotListening(host, port);
  return socket;
}
