/**
 * Another user of the machine, who may connect to every port of a service, see its processes and try its files. Runs
 * each command that starts a service. Reads sockets and processes from Linux's proc file system.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { codeOf } from '../../shared/files/durable.js';
import { wholeAnswer } from '../../verifier/index.js';
import { freePort } from '../support/launch/freePort.js';
import { type Launched, launchNode } from '../support/launch/process.js';
import { skip } from '../support/skip.js';

const UNPRIVILEGED = 65_534;
const LISTENS = '0A';
const ANSWER_MS = 20_000;
const ANSWER_BYTES_MAX = 1024 * 1024;
/** The seed of a NATS user, an API key, a private key. */
const SECRET = /\bSU[A-Z2-7]{50,}|\bvk_[0-9a-f]{32,}|PRIVATE KEY/;
/** Files of the data folder that contain secrets on purpose; several NATS servers share one in their configuration. */
const MAY_HOLD_SECRETS = /^keys\/|\.(?:key|nk)$|^nats\/n\d+\/nats-server\.conf$/;
/** Prints the arguments that it can read. */
const READ_EACH = 'for path; do if head -c 1 "$path" >/dev/null 2>&1; then echo "$path"; fi; done';
/** Paths that a NATS server and a coordinator serve besides the API. */
const PATHS = ['/', '/varz', '/jsz', '/connz', '/subsz', '/routez', '/debug/vars', '/metrics', '/v1/namespaces'];

interface Command {
  readonly name: string;
  readonly script: string;
  readonly args: readonly string[];
  readonly up: RegExp;
  /** Log files that it writes. */
  readonly logs: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Whether it serves metrics at separate addresses, which need no key. */
  readonly hasMetrics?: boolean;
}

/** The last line of the greeting. */
const UP = /^ +stop +Ctrl-C/;
const COMMANDS: readonly Command[] = [
  {
    name: 'npm start',
    script: 'start',
    args: [],
    up: UP,
    logs: ['nats-server.log', 'coordinator.log', 'shard-s1.log'],
    env: { VOUCH_SHARDS: '1' },
  },
  {
    name: 'npm run standalone',
    script: 'start',
    args: [],
    up: UP,
    logs: ['service.log'],
    env: { VOUCH_MODE: 'standalone' },
  },
  {
    name: 'npm run cluster',
    script: 'cluster',
    args: ['--plain', '--nats', '3', '--coordinators', '1', '--shards', '1'],
    up: /^ +NATS pages +n1 /,
    logs: ['nats-n1.log', 'nats-n2.log', 'nats-n3.log', 'coordinator.log', 'shard-s1.log'],
    hasMetrics: true,
  },
];

/** The process and all its descendants. */
function processesOf(pid: number): number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry)))
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]));
    } catch {
      // The process has just ended.
    }
  const found = [pid];
  for (const parent of found) for (const [child, of] of parents) if (of === parent) found.push(child);
  return found;
}

/** The processes' listening sockets, as `host:port` in hex like in the kernel's list. */
function listening(pids: readonly number[]): string[] {
  const sockets = new Set(
    pids.flatMap((pid) => readdirSync(`/proc/${pid}/fd`).flatMap((fd) => linkOf(`/proc/${pid}/fd/${fd}`) ?? [])),
  );
  return ['tcp', 'tcp6']
    .flatMap((kind) => readFileSync(`/proc/net/${kind}`, 'utf8').trim().split('\n').slice(1))
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , , state, , , , , , inode]) => state === LISTENS && sockets.has(`socket:[${inode}]`))
    .map(([, address]) => address!);
}

function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined; // Closed in the meantime.
  }
}

/** Content of a file; empty for a folder, and for a file that the running service has just deleted. */
function contentOf(path: string): string {
  if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return '';
  try {
    return readFileSync(path, 'latin1');
  } catch (error) {
    expect(codeOf(error)).to.equal('ENOENT');
    return '';
  }
}

/** Everything that a port sends to a NATS client without a login, until it closes the connection. */
const greet = (port: number): Promise<string> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let said = '';
    const end = (): void => {
      socket.destroy();
      resolve(said);
    };
    socket.setTimeout(ANSWER_MS, end);
    socket.on('error', end).on('close', end);
    socket.on('data', (chunk) => {
      said += chunk;
    });
    socket.write('CONNECT {"verbose":false}\r\nSUB > 1\r\nPING\r\n');
  });

const statusOf = async (port: number, path: string): Promise<number | undefined> => {
  const bounds = { withinMs: ANSWER_MS, maxBytes: ANSWER_BYTES_MAX };
  return wholeAnswer(`http://127.0.0.1:${port}${path}`, { headers: { connection: 'close' } }, bounds).then(
    ({ status }) => status,
    () => undefined,
  );
};

describe('another user of the machine', () => {
  before(function () {
    if (process.platform !== 'linux') skip(this, 'only Linux lists the sockets of a process, in /proc');
  });

  for (const { name, script, args, up, logs, env, hasMetrics = false } of COMMANDS)
    describe(`with ${name}`, () => {
      let folder: string;
      let port: number;
      let service: Launched;
      let pids: number[];

      before(async () => {
        folder = mkdtempSync(join(tmpdir(), 'vouch-attack-'));
        // Opens the parent, so that only the data folder's own mode protects it.
        chmodSync(folder, 0o755);
        port = await freePort();
        const entry = fileURLToPath(new URL(`../../scripts/${script}.js`, import.meta.url));
        const own = script === 'cluster' ? ['--port', String(port)] : [];
        const settings = { VOUCH_DATA_DIR: join(folder, 'data'), VOUCH_PORT: String(port), VOUCH_NATS_URL: undefined };
        const unset = { VOUCH_REPLICAS: undefined, INIT_CWD: undefined };
        service = launchNode(entry, [...args, ...own], { cwd: folder, env: { ...settings, ...unset, ...env } });
        await service.waitForLine(up);
        pids = processesOf(service.pid);
      });

      after(async () => {
        await service?.stop();
        rmSync(folder, { recursive: true, force: true });
      });

      it('finds no open port besides the API without a login, and none from another machine', async () => {
        const addresses = listening(pids);
        expect(addresses.filter((address) => !/^(?:0100007F|0{24}01000000):/.test(address))).to.deep.equal([]);
        const ports = [...new Set(addresses.map((address) => Number.parseInt(address.split(':')[1]!, 16)))];
        expect(ports).to.include(port);
        const kinds = { api: 0, nats: 0, pages: 0, metrics: 0 };
        for (const at of ports) {
          const statuses = await Promise.all(PATHS.map((path) => statusOf(at, path)));
          const open = PATHS.filter((_, i) => statuses[i] === 200);
          if (at === port) {
            // The root leads to the console, which contains no data.
            expect(open).to.deep.equal(['/']);
            kinds.api++;
          } else if (statuses.every((status) => status === undefined)) {
            const said = await greet(at);
            expect(said)
              .to.match(/-ERR 'Authorization Violation'/)
              .and.not.match(/^PONG/m);
            kinds.nats++;
          } else if (statuses.every((status) => status === 404)) kinds.pages++;
          else {
            expect(open, `port ${at}: ${statuses}`).to.deep.equal(['/metrics']);
            kinds.metrics++;
          }
        }
        const servers = name === 'npm run cluster' ? 3 : 0;
        const nats = { 'npm start': 1, 'npm run standalone': 0, 'npm run cluster': 2 * 3 }[name];
        expect(kinds).to.deep.equal({ api: 1, nats, pages: servers, metrics: hasMetrics ? 1 : 0 });
      });

      it('reads no file of the data folder, and finds no secret in processes and logs', async function () {
        const headers = { authorization: `Bearer vk_${'5'.repeat(64)}`, connection: 'close' };
        const answer = await fetch(`http://127.0.0.1:${port}/v1/namespaces`, { headers });
        expect(answer.status).to.equal(401);
        const root = join(folder, 'data');
        const paths = (readdirSync(root, { recursive: true }) as string[]).map((path) => join(root, path));
        expect(paths.filter((path) => /\.(?:key|nk)$/.test(path))).to.not.deep.equal([]);
        for (const pid of pids) expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8')).to.not.match(SECRET);
        expect(
          paths
            .map((path) => basename(path))
            .filter((file) => logs.includes(file))
            .sort(),
        ).to.deep.equal([...logs].sort());
        const holdSecrets = paths.filter((path) => SECRET.test(contentOf(path)));
        expect(holdSecrets.filter((path) => !MAY_HOLD_SECRETS.test(relative(root, path)))).to.deep.equal([]);
        expect(service.output.replace(/vk_\w+ +\(shown this once\)/, '')).to.not.match(SECRET);
        if (process.getuid?.() !== 0) skip(this, 'only root may become another user');
        const proc = pids.flatMap((pid) => ['environ', 'mem', 'maps'].map((file) => `/proc/${pid}/${file}`));
        const readable = spawnSync('sh', ['-c', READ_EACH, 'sh', root, ...paths, ...proc, '/proc/self/environ'], {
          ...{ uid: UNPRIVILEGED, gid: UNPRIVILEGED, cwd: '/', encoding: 'utf8' },
        });
        expect(readable.stdout.trim().split('\n')).to.deep.equal(['/proc/self/environ']);
      });
    });
});
