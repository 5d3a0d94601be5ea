/** `npm run mcp`: a Vouch service as tools of a language model, over standard input and output. */
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { loadConfigOrExit } from '../config/load.js';
import { MCP_USAGE, parseMcp } from './mcp/request.js';
import { serverOf } from './mcp/server.js';
import { ServiceClient } from './service/serviceClient.js';
import { findTarget } from './service/target.js';
import { runCommand } from './terminal/commandLine.js';
import { printable, say } from './terminal/line.js';

/** Short patience, since a model waits for each answer: "unavailable" is an answer too. A token of the rate limit takes 1.2 s. */
const ATTENDED = { outageMs: 0, limitedMs: 15_000 };
/** Largest answer of the service that is read; most answers with 100 records are much smaller. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024;

await runCommand({ name: 'mcp', usage: MCP_USAGE }, async (args) => {
  const request = parseMcp(args);
  const client = new ServiceClient(
    await findTarget(request.service, loadConfigOrExit(process.env)),
    ATTENDED,
    ANSWER_BYTES_MAX,
  );
  serveStdio(() => serverOf(client, request), { onerror: ({ message }) => say('failed', 'mcp', printable(message)) });
});
