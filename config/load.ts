/**
 * Loads a node's configuration: from `default.json`, the file that VOUCH_CONFIG names, the environment, and the caller;
 * each overrides the settings of those before it.
 */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import typia from 'typia';
import type { Config } from './config.js';
import { nearest } from './nearest.js';
import { SETTINGS, type SettingPath, settingAt } from './settings.js';

/** A configuration that cannot be used. The message is one line: the setting, its value, and the allowed values. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}

/** The address of a NATS server; scheme, credentials and port are optional. */
const NATS_ADDRESS = /^(?:(?:nats|tls):\/\/)?(?:[^\s/@]+@)?(?:\[[\da-fA-F:.]+\]|[^\s/@:[\]]+)(?::\d{1,5})?\/?$/;

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/i;

type Part<T> = T extends object ? { readonly [K in keyof T]?: Part<T[K]> } : T;
export type ConfigOverrides = Part<Config>;
export type Environment = Readonly<Record<string, string | undefined>>;
type Tree = { readonly [key: string]: unknown };

const check = typia.createValidateEquals<Config>();
// Two folders up: this runs as dist/config/load.js.
const DEFAULTS = new URL('../../config/default.json', import.meta.url);

/** Throws ConfigError. Relative folders are taken from the working directory of the process. */
export function loadConfig(env: Environment, overrides: ConfigOverrides = {}): Config {
  const file = env.VOUCH_CONFIG;
  const fromFile = file ? readTree(file) : {};
  const { tree: fromEnvironment, variables } = readEnvironment(env);
  const merged = [fromFile, fromEnvironment, overrides as Tree].reduce(merge, readTree(DEFAULTS));
  const outcome = check(merged);
  if (!outcome.success) {
    const { path, value } = outcome.errors[0]!;
    throw refusal(plainPath(path), value, variables, file);
  }
  assertRelations(outcome.data);
  const dataDir = resolve(outcome.data.dataDir);
  const masterKeyFile = resolve(outcome.data.masterKeyFile || join(dataDir, 'master.key'));
  const signingKeyFile = resolve(outcome.data.signingKeyFile || join(dataDir, 'signing.key'));
  const { keyFile, witnesses, ...rest } = outcome.data.serviceLog;
  const serviceLog = {
    ...rest,
    keyFile: resolve(keyFile || join(dataDir, 'log.key')),
    witnesses: witnesses === '' ? '' : resolve(witnesses),
  };
  return { ...outcome.data, dataDir, masterKeyFile, signingKeyFile, serviceLog };
}

/** Loads the configuration of a process. Where it is wrong, prints one line and exits with 78 (EX_CONFIG). */
export function loadConfigOrExit(env: Environment, overrides: ConfigOverrides = {}): Config {
  try {
    return loadConfig(env, overrides);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(78);
  }
}

const VARIABLES = Object.values(SETTINGS).map(({ variable }) => variable);

/** Variables that set-up, single commands or tests read. */
const OTHER_VARIABLES = /^VOUCH_(?:CONFIG|NATS_SERVER|PORTABLE|PACKAGE|KEY|BENCH_DATA|SEED|API_CASES)$/;
const PREFIX = 'VOUCH_';

/** Variables with our prefix that belong to no setting, such as misspelt ones. */
export function strayVariables(env: Environment): string[] {
  const settings = new Set(VARIABLES);
  const ours = Object.keys(env).filter((name) => name.startsWith(PREFIX) && !OTHER_VARIABLES.test(name));
  return ours.filter((name) => !settings.has(name)).sort();
}

/** A warning for each stray variable, with the nearest one that sets something. */
export const strayWarnings = (env: Environment): string[] =>
  strayVariables(env).map((name) => {
    const meant = nearest(
      name.slice(PREFIX.length),
      VARIABLES.map((variable) => variable.slice(PREFIX.length)),
    );
    const hint =
      meant === undefined ? 'docs/operations/settings.md lists those that do' : `did you mean ${PREFIX}${meant}?`;
    return `${name} sets nothing: ${hint}`;
  });

/** The configuration for a log, without the credentials in the NATS addresses. */
export function printableConfig(config: Config): Config {
  const url = config.nats.url?.replace(/\/\/[^/@,]*@/g, '//***@') ?? null;
  return { ...config, nats: { ...config.nats, url } };
}

function readTree(file: string | URL): Tree {
  const name = file instanceof URL ? file.pathname : file;
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new ConfigError(`the configuration file ${name} cannot be read: ${(error as Error).message}`);
  }
  try {
    const tree: unknown = JSON.parse(text);
    if (isTree(tree)) return tree;
  } catch (error) {
    throw new ConfigError(`the configuration file ${name} is not JSON: ${(error as Error).message}`);
  }
  throw new ConfigError(`the configuration file ${name} does not hold a JSON object`);
}

/** An empty variable counts as not set, as compose files and shells write it. */
function readEnvironment(env: Environment): { tree: Tree; variables: ReadonlyMap<string, string> } {
  let tree: Tree = {};
  const variables = new Map<string, string>();
  for (const [path, { variable, allowed, read }] of Object.entries(SETTINGS)) {
    const raw = env[variable]?.trim();
    if (!raw) continue;
    const value = read(raw);
    if (value === undefined) throw new ConfigError(`${variable} is ${quote(raw)}; allowed is ${allowed}`);
    tree = merge(tree, nest(path.split('.'), value));
    variables.set(path, variable);
  }
  return { tree, variables };
}

const isTree = (value: unknown): value is Tree => typeof value === 'object' && value !== null && !Array.isArray(value);

const nest = ([key, ...rest]: readonly string[], value: unknown): Tree => ({
  [key!]: rest.length === 0 ? value : nest(rest, value),
});

/** Merges objects key by key; any other value in `over` replaces that in `base`. */
function merge(base: Tree, over: Tree): Tree {
  const merged = new Map(Object.entries(base));
  for (const [key, value] of Object.entries(over)) {
    if (value === undefined) continue;
    const below = merged.get(key);
    merged.set(key, isTree(below) && isTree(value) ? merge(below, value) : value);
  }
  // fromEntries makes an own property even of `__proto__`, which is then refused as unknown.
  return Object.fromEntries(merged);
}

/** `$input.rateLimits["default"].read` → `rateLimits.default.read` */
const plainPath = (path: string): string => path.replace(/\["([^"]*)"\]/g, '.$1').replace(/^\$input\.?/, '');

function refusal(
  path: string,
  value: unknown,
  variables: ReadonlyMap<string, string>,
  file: string | undefined,
): ConfigError {
  const known = settingAt(path);
  const from = file ? ` in ${file}` : '';
  if (!known) {
    const below = Object.keys(SETTINGS).filter((at) => at.startsWith(`${path}.`));
    if (below.length === 0) return new ConfigError(`${path}${from} is not a setting: ${hintFor(path)}`);
    return new ConfigError(`${path} is ${quote(value)}${from}; allowed is an object of ${below.join(', ')}`);
  }
  const { allowed } = known.setting;
  const variable = variables.get(known.path);
  const inside = path === known.path ? '' : `: ${path.slice(known.path.length + 1)}`;
  const where =
    variable === undefined ? `${path} is ${quote(value)}${from}` : `${variable}${inside} is ${quote(value)}`;
  return new ConfigError(`${where}; allowed is ${allowed}`);
}

/** Names the setting that is probably meant: of a path that is near, or of a last part that is. */
function hintFor(path: string): string {
  const last = (one: string): string => one.split('.').at(-1)!;
  const paths = Object.keys(SETTINGS);
  const near = nearest(path, paths) ?? paths.find((one) => last(one) === nearest(last(path), paths.map(last)));
  return near === undefined ? 'docs/operations/settings.md lists them' : `did you mean ${near}?`;
}

function quote(value: unknown): string {
  if (value === undefined) return 'missing';
  const shown = JSON.stringify(value);
  return shown.length > 120 ? `${shown.slice(0, 119)}…` : shown;
}

interface ComparedSetting {
  readonly path: SettingPath;
  readonly value: number;
  /** The form in which it is compared, in the message. */
  readonly form?: string;
}

/** Throws ConfigError unless the first setting is the smaller. */
function assertSmaller(lesser: ComparedSetting, greater: ComparedSetting): void {
  if (lesser.value < greater.value) return;
  throw new ConfigError(
    `${named(lesser.path)}${lesser.form ?? ''} is ${lesser.value} and ${named(greater.path)} is ${greater.value}; ` +
      'the first must be the smaller',
  );
}

/** Checks the relations between settings. Throws ConfigError. */
function assertRelations({ placement, limits, http, metrics, metricsOpen, nats }: Config): void {
  const lease: ComparedSetting = { path: 'placement.leaseMs', value: placement.leaseMs };
  const body: ComparedSetting = { path: 'limits.bodyBytes', value: limits.bodyBytes };
  const base64Bytes = Math.ceil(limits.payloadBytes / 3) * 4;
  assertSmaller({ path: 'placement.heartbeatMs', value: placement.heartbeatMs }, lease);
  assertSmaller(lease, { path: 'placement.failoverMs', value: placement.failoverMs });
  assertSmaller({ path: 'limits.metadataBytes', value: limits.metadataBytes }, body);
  assertSmaller({ path: 'limits.textBytes', value: limits.textBytes }, body);
  assertSmaller({ path: 'limits.payloadBytes', value: base64Bytes, form: ' in base64' }, body);
  if (metrics && metrics.port !== 0 && metrics.port === http.port && metrics.host === http.host)
    throw new ConfigError(
      `${named('metrics')} and ${named('http.port')} are both at ${http.host}:${http.port}; allowed is an address of its own`,
    );
  if (metricsOpen && metrics === null && !LOOPBACK.test(http.host))
    throw new ConfigError(
      `${named('metricsOpen')} is true and ${named('http.host')} is ${http.host}; without a key metrics are served beside ` +
        `the API on loopback alone (127.0.0.1, ::1, localhost): make a key of scope metrics, or set ${named('metrics')}`,
    );
  assertEdge({ http, metrics });
  if ((nats.cert === '') !== (nats.key === ''))
    throw new ConfigError(`set both ${named('nats.cert')} and ${named('nats.key')}, or neither`);
  const logins = [nats.creds !== '', nats.nkey !== '', nats.url?.includes('@') ?? false];
  if (logins.filter(Boolean).length > 1)
    throw new ConfigError(
      `more than one login at NATS is set; allowed is one of ${named('nats.creds')}, ` +
        `${named('nats.nkey')}, and a user in ${named('nats.url')}`,
    );
  for (const address of nats.url?.split(',') ?? [])
    if (!NATS_ADDRESS.test(address.trim()))
      throw new ConfigError(
        `${named('nats.url')} holds an address that cannot be read; allowed is ${SETTINGS['nats.url'].allowed}`,
      );
}

/** A setting by its variable and by its path in a file. */
const named = (path: SettingPath): string => `${SETTINGS[path].variable} (${path})`;

const ORIGIN = /^(?:\*|https?:\/\/[^\s/*,]+)$/;

/** Checks how the API is served. Throws ConfigError. */
function assertEdge({ http, metrics }: Pick<Config, 'http' | 'metrics'>): void {
  const { host, tlsCert, tlsKey, insecure, corsOrigins } = http;
  if ((tlsCert === '') !== (tlsKey === ''))
    throw new ConfigError(`set both ${named('http.tlsCert')} and ${named('http.tlsKey')}, or neither`);
  const hosts = { 'http.host': host, metrics: metrics?.host ?? host } as const;
  const open = (['http.host', 'metrics'] as const).find((path) => !LOOPBACK.test(hosts[path]));
  if (tlsCert === '' && !insecure && open !== undefined)
    throw new ConfigError(
      `HTTP without TLS is served on loopback alone, and ${named(open)} is ${hosts[open]}; set ${named('http.tlsCert')} and ` +
        `${named('http.tlsKey')}, or ${named('http.insecure')} to true where a proxy ends TLS or the network is your own`,
    );
  const wrong = corsOrigins.find((origin) => !ORIGIN.test(origin));
  if (wrong !== undefined)
    throw new ConfigError(
      `${named('http.corsOrigins')} holds ${JSON.stringify(wrong)}; allowed is ${SETTINGS['http.corsOrigins'].allowed}`,
    );
}
