/** One of the two processes of the bare stack: `bareProcess.js <role> <NATS address>`. See `bareStack.ts`. */
import { pack, unpack } from 'msgpackr';
import { connect } from 'nats';
import type { TakeRequest } from '../coordinator/http/engine/engine.js';
import { loadEngine } from '../coordinator/http/engine/loadEngine.js';
import { silentLogger } from '../shared/logger.js';
import { loginOptions, NO_LOGIN } from '../shared/nats/natsLogin.js';

const SUBJECT = 'vouch.bench.bare';
const REQUEST_MS = 5_000;

/** Runs one of the two processes until it is killed. Prints one line once it serves: the coordinator its port, the shard 0. */
async function serve(role: string, natsUrl: string): Promise<void> {
  const login = await loginOptions({ ...NO_LOGIN, nkey: process.env.VOUCH_NATS_NKEY ?? '' });
  const nc = await connect({ servers: natsUrl, ...login });
  if (role === 'bare-shard') {
    nc.subscribe(SUBJECT, {
      callback: (_error, msg) => void msg.respond(pack({ results: [], asked: unpack(msg.data) })),
    });
    await nc.flush();
    process.stdout.write('0\n');
    return;
  }
  const engine = await loadEngine('auto', silentLogger);
  const take: TakeRequest = (res) => {
    let body = '';
    res.onAborted(() => {});
    res.onData(async (chunk, isLast) => {
      body += Buffer.from(chunk).toString();
      if (!isLast) return;
      const answer = await nc.request(SUBJECT, pack(JSON.parse(body)), { timeout: REQUEST_MS });
      const text = JSON.stringify(unpack(answer.data));
      res.cork(() => {
        res.writeStatus('200 OK');
        res.writeHeader('content-type', 'application/json');
        res.end(text);
      });
    });
  };
  const { port } = await engine.listen(take, { host: '127.0.0.1', port: 0 });
  process.stdout.write(`${port}\n`);
}

const [, , role = '', natsUrl = ''] = process.argv;
await serve(role, natsUrl);
