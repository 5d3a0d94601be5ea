// Covers: config/load.ts, config/settings.ts
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { ConfigError, loadConfig, printableConfig, strayVariables, strayWarnings } from '../../../config/load.js';
import { SETTINGS, type SettingPath } from '../../../config/settings.js';

const CONFIG_FOLDER = fileURLToPath(new URL('../../../../config/', import.meta.url));

const HTTP = { sharePort: false, engine: 'auto', tlsCert: '', tlsKey: '', insecure: false, corsOrigins: [] };

/** A value of each setting, as the text of its variable and as it is read. */
const VALUES: Record<SettingPath, [text: string, value: unknown]> = {
  mode: ['standalone', 'standalone'],
  'http.host': ['::1', '::1'],
  'http.port': ['0', 0],
  'http.engine': ['node', 'node'],
  'http.tlsCert': ['/etc/vouch/tls.pem', '/etc/vouch/tls.pem'],
  'http.tlsKey': ['/etc/vouch/tls.key', '/etc/vouch/tls.key'],
  'http.insecure': ['true', true],
  'http.corsOrigins': ['https://a.example, http://b:81', ['https://a.example', 'http://b:81']],
  'http.sharePort': ['true', true],
  metrics: ['[::1]:9090', { host: '::1', port: 9090 }],
  metricsOpen: ['true', true],
  dataDir: ['/somewhere', '/somewhere'],
  masterKeyFile: ['/run/secrets/master.key', '/run/secrets/master.key'],
  signingKeyFile: ['/run/secrets/signing.key', '/run/secrets/signing.key'],
  'serviceLog.keyFile': ['/run/secrets/log.key', '/run/secrets/log.key'],
  'serviceLog.origin': ['vouch.example.com/log', 'vouch.example.com/log'],
  'serviceLog.everyMs': ['1000', 1000],
  'serviceLog.witnesses': ['/etc/vouch/witnesses', '/etc/vouch/witnesses'],
  shards: ['64', 64],
  searchThreads: ['3', 3],
  'nats.url': ['nats://a:1, tls://b', 'nats://a:1, tls://b'],
  'nats.creds': ['', ''],
  'nats.nkey': ['/etc/vouch/shard.nk', '/etc/vouch/shard.nk'],
  'nats.ca': ['/etc/vouch/ca.pem', '/etc/vouch/ca.pem'],
  'nats.cert': ['/etc/vouch/cert.pem', '/etc/vouch/cert.pem'],
  'nats.key': ['/etc/vouch/key.pem', '/etc/vouch/key.pem'],
  'nats.replicas': ['5', 5],
  'nats.logStreams': ['256', 256],
  logLevel: ['silent', 'silent'],
  'limits.bodyBytes': ['1000', 1000],
  'limits.metadataBytes': ['10', 10],
  'limits.textBytes': ['11', 11],
  'limits.payloadBytes': ['20', 20],
  'limits.batchVectors': ['12', 12],
  'limits.collectionsPerProject': ['13', 13],
  'limits.aliasesPerProject': ['22', 22],
  'limits.maxRecords': ['14', 14],
  'limits.memoryBytes': ['4294967297', 4_294_967_297],
  'limits.storeBytes': ['4294967298', 4_294_967_298],
  'limits.maxBytes': ['17179869185', 17_179_869_185],
  'limits.maxBytesOfProjects': ['{"acme": 5000}', { acme: 5_000 }],
  'limits.unknownShreds': ['21', 21],
  'limits.deadlineMs': ['15', 15],
  'limits.rebuildMs': ['18', 18],
  'limits.dedupWindow': ['16', 16],
  'limits.asOfCacheBytes': ['19', 19],
  'limits.inFlight': ['17', 17],
  'limits.maxQueueWaitMs': ['20', 20],
  rateLimits: ['off', 'off'],
  ann: ['false', false],
  'snapshots.everyBytes': ['1048576', 1_048_576],
  'snapshots.keep': ['2', 2],
  'placement.heartbeatMs': ['1', 1],
  'placement.leaseMs': ['2', 2],
  'placement.failoverMs': ['3', 3],
  'placement.drainTimeoutMs': ['4', 4],
  'followers.count': ['1', 1],
  'followers.projects': ['{"p": 2}', { p: 2 }],
  'followers.collections': ['{"p/c": 0}', { 'p/c': 0 }],
  'followers.staleMs': ['500', 500],
};

describe('configuration', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'vouch-config-'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const fileOf = (content: unknown): string => {
    const file = join(folder, 'vouch.json');
    writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
    return file;
  };
  const refusal = (env: Record<string, string>): string => {
    try {
      loadConfig(env);
    } catch (error) {
      expect(error).to.be.instanceOf(ConfigError);
      const { message } = error as ConfigError;
      expect(message, 'one line').to.not.include('\n');
      return message;
    }
    throw new Error('the configuration was accepted');
  };

  it('equals the documented defaults if nothing is set', () => {
    const config = loadConfig({});
    expect(config.mode).to.equal('cluster');
    expect(config.http).to.deep.equal({ host: '127.0.0.1', port: 8080, ...HTTP });
    expect(config.shards).to.equal(2);
    expect(config.dataDir).to.equal(resolve('data'));
    expect(config.masterKeyFile).to.equal(resolve('data/master.key'));
    expect(config.signingKeyFile).to.equal(resolve('data/signing.key'));
    expect(config.rateLimits).to.deep.equal({
      default: {
        total: { perMinute: 100, burst: 20 },
        read: { perMinute: 50, burst: 10 },
        write: { perMinute: 50, burst: 10 },
      },
    });
  });

  it('prefers the caller to the environment, the environment to the file, and the file to the default', () => {
    const file = fileOf({ shards: 3, http: { port: 1 }, limits: { maxRecords: 7 } });
    const config = loadConfig({ VOUCH_CONFIG: file, VOUCH_PORT: '2', VOUCH_SHARDS: '' }, { nats: { replicas: 3 } });
    expect(config.shards, 'from the file, as an empty variable is not set').to.equal(3);
    expect(config.http, 'one field from the environment, one from the default').to.deep.equal({
      host: '127.0.0.1',
      port: 2,
      ...HTTP,
    });
    expect(config.limits.maxRecords).to.equal(7);
    expect(config.limits.deadlineMs).to.equal(10_000);
    expect(config.nats.replicas).to.equal(3);
  });

  it('is read from every documented variable', () => {
    const paths = Object.keys(SETTINGS) as SettingPath[];
    const env = Object.fromEntries(paths.map((path) => [SETTINGS[path].variable, VALUES[path][0]]));
    const config = loadConfig(env);
    for (const path of paths) {
      const value = path.split('.').reduce<unknown>((part, key) => (part as Record<string, unknown>)[key], config);
      expect(value, path).to.deep.equal(VALUES[path][1]);
    }
  });

  it('takes rate limits for one project as JSON', () => {
    const off = loadConfig({ VOUCH_RATE_LIMITS: '{"projects": {"p": "off"}}' });
    expect(off.rateLimits).to.have.nested.property('projects.p', 'off');
    expect(off.rateLimits, 'the default stays').to.have.nested.property('default.read.burst', 10);
  });

  it('refuses a wrong variable in one line with its name, its value and the allowed values', () => {
    const all = 'a whole number from';
    expect(refusal({ VOUCH_PORT: '99999' })).to.equal(
      `VOUCH_PORT is 99999; allowed is ${all} 0 to 65535 (0: any free port)`,
    );
    expect(refusal({ VOUCH_PORT: 'http' })).to.match(/^VOUCH_PORT is "http"; allowed is a whole number/);
    expect(refusal({ VOUCH_SHARDS: '0' })).to.equal(`VOUCH_SHARDS is 0; allowed is ${all} 1 to 64`);
    expect(refusal({ VOUCH_SHARDS: '2.5' })).to.match(/^VOUCH_SHARDS is "2.5"; allowed/);
    expect(refusal({ VOUCH_MODE: 'both' })).to.equal('VOUCH_MODE is "both"; allowed is cluster or standalone');
    expect(refusal({ VOUCH_LOG_LEVEL: 'loud' })).to.match(/^VOUCH_LOG_LEVEL is "loud"; allowed is trace, debug/);
    expect(refusal({ VOUCH_METRICS: '9090' })).to.match(/^VOUCH_METRICS is "9090"; allowed is host:port/);
    expect(refusal({ VOUCH_RATE_LIMITS: '{' })).to.match(/^VOUCH_RATE_LIMITS is "{"; allowed is off, or/);
    expect(refusal({ VOUCH_NATS_URL: 'http://x:1/y' })).to.match(/^VOUCH_NATS_URL .* allowed is nats:\/\/host:port/);
    const noBurst = '{"default": {"read": {"burst": 0}}}';
    expect(refusal({ VOUCH_RATE_LIMITS: noBurst })).to.match(/^VOUCH_RATE_LIMITS: default.read.burst is 0; allowed is/);
  });

  it('allows HTTP without TLS on loopback only, unless VOUCH_INSECURE_HTTP is set', () => {
    for (const host of ['127.0.0.1', '127.3.2.1', '::1', 'localhost']) loadConfig({ VOUCH_HOST: host });
    for (const host of ['0.0.0.0', '::', '10.0.0.5', 'vouch.example', '127.0.0.1.example'])
      expect(refusal({ VOUCH_HOST: host })).to.match(
        /^HTTP without TLS is served on loopback alone, and VOUCH_HOST \(http\.host\) is .*VOUCH_TLS_CERT.*VOUCH_TLS_KEY.*VOUCH_INSECURE_HTTP/,
      );
    const tls = { VOUCH_TLS_CERT: 'c.pem', VOUCH_TLS_KEY: 'k.pem' };
    expect(loadConfig({ VOUCH_HOST: '0.0.0.0', ...tls }).http.tlsCert).to.equal('c.pem');
    expect(loadConfig({ VOUCH_HOST: '0.0.0.0', VOUCH_INSECURE_HTTP: 'true' }).http.insecure).to.equal(true);
    expect(refusal({ VOUCH_TLS_CERT: 'c.pem' })).to.match(
      /^set both VOUCH_TLS_CERT .* and VOUCH_TLS_KEY .*, or neither$/,
    );
    expect(refusal({ VOUCH_METRICS: '10.0.0.5:9090' })).to.match(
      /^HTTP without TLS .* VOUCH_METRICS \(metrics\) is 10\.0\.0\.5;/,
    );
    expect(refusal({ VOUCH_HTTP_ENGINE: 'fast' })).to.match(
      /^VOUCH_HTTP_ENGINE is "fast"; allowed is auto, uws or node$/,
    );
    for (const origins of ['example.com', 'https://a.example/', 'https://a.example,', 'https://*.example'])
      expect(refusal({ VOUCH_CORS_ORIGINS: origins })).to.match(/^VOUCH_CORS_ORIGINS .* holds .*; allowed is origins/);
  });

  it('refuses a wrong value in a file with its path, and a setting that does not exist', () => {
    const of = (content: unknown) => refusal({ VOUCH_CONFIG: fileOf(content) });
    expect(of({ http: { port: 'x' } })).to.match(/^http.port is "x" in .*vouch.json; allowed is a whole number/);
    expect(of({ http: 8080 })).to.match(
      /^http is 8080 in .*; allowed is an object of http.host, http.port, http.sharePort, /,
    );
    expect(of({ prot: 1 })).to.match(/^prot in .*vouch.json is not a setting: did you mean http.port\?$/);
    expect(of({ http: { prot: 1 } })).to.match(/^http.prot in .* is not a setting: did you mean http.port\?$/);
    expect(of({ colour: 1 })).to.match(/^colour in .* is not a setting: docs\/operations\/settings.md lists/);
    expect(of('{"__proto__": {"shards": 3}}')).to.match(/^__proto__ in .* is not a setting: /);
    expect(of({ metrics: { host: 'x' } })).to.match(/^metrics.port is missing in .*; allowed is host:port/);
    expect(of('{')).to.match(/^the configuration file .*vouch.json is not JSON: /);
    expect(of([1])).to.match(/^the configuration file .*vouch.json does not hold a JSON object$/);
    expect(refusal({ VOUCH_CONFIG: join(folder, 'none') })).to.match(/none cannot be read: ENOENT/);
  });

  it('refuses settings that contradict one another', () => {
    const leases = refusal({ VOUCH_HEARTBEAT_MS: '5000' });
    expect(leases).to.equal(
      'VOUCH_HEARTBEAT_MS (placement.heartbeatMs) is 5000 and VOUCH_LEASE_MS (placement.leaseMs) is 2000; the first must be the smaller',
    );
    expect(refusal({ VOUCH_FAILOVER_MS: '2000' })).to.include(
      'VOUCH_LEASE_MS (placement.leaseMs) is 2000 and VOUCH_FAILOVER_MS (placement.failoverMs) is 2000',
    );
    expect(refusal({ VOUCH_BODY_BYTES: '100' })).to.include(
      'VOUCH_METADATA_BYTES (limits.metadataBytes) is 65536 and VOUCH_BODY_BYTES (limits.bodyBytes) is 100',
    );
    expect(refusal({ VOUCH_METRICS: '127.0.0.1:8080' })).to.include(
      'VOUCH_METRICS (metrics) and VOUCH_PORT (http.port) are both at 127.0.0.1:8080',
    );
    for (const half of ['VOUCH_NATS_CERT', 'VOUCH_NATS_KEY'])
      expect(refusal({ [half]: '/file.pem' })).to.equal(
        'set both VOUCH_NATS_CERT (nats.cert) and VOUCH_NATS_KEY (nats.key), or neither',
      );
    const logins = { VOUCH_NATS_NKEY: '/a', VOUCH_NATS_CREDS: '/b', VOUCH_NATS_URL: 'nats://u:p@h' };
    for (const left of Object.keys(logins))
      expect(refusal({ ...logins, [left]: '' })).to.match(/^more than one login at NATS is set; allowed is one/);
    expect(loadConfig({ VOUCH_NATS_CREDS: '/b' }).nats.creds).to.equal('/b');
    const open = { VOUCH_METRICS_OPEN: 'true' };
    for (const VOUCH_HOST of ['0.0.0.0', '::', '10.0.0.1', 'vouch.example'])
      expect(refusal({ ...open, VOUCH_HOST })).to.match(
        new RegExp(`^VOUCH_METRICS_OPEN \\(metricsOpen\\) is true and VOUCH_HOST \\(http.host\\) is ${VOUCH_HOST};`),
      );
    for (const VOUCH_HOST of ['127.0.0.1', '::1', 'localhost'])
      expect(loadConfig({ ...open, VOUCH_HOST }).metricsOpen).to.equal(true);
    expect(loadConfig({}).metricsOpen).to.equal(false);
  });

  it('lists VOUCH_ variables that set nothing', () => {
    const known = {
      ...Object.fromEntries(Object.values(SETTINGS).map(({ variable }) => [variable, ''])),
      VOUCH_KEY: '',
    };
    expect(strayVariables({ ...known, VOUCH: '', HOME: '', VOUCH_CONFIG: '', VOUCH_SEED: '1' })).to.deep.equal([]);
    expect(strayVariables({ ...known, VOUCH_PROT: '9000', VOUCH_DATA: '' })).to.deep.equal([
      'VOUCH_DATA',
      'VOUCH_PROT',
    ]);
  });

  it('warns of each variable that sets nothing, with the nearest one that does', () => {
    const warnings = strayWarnings({ VOUCH_PROT: '', VOUCH_LOGLEVEL: '', VOUCH_COLOUR: '', VOUCH_PORT: '' });
    expect(warnings).to.deep.equal([
      'VOUCH_COLOUR sets nothing: docs/operations/settings.md lists those that do',
      'VOUCH_LOGLEVEL sets nothing: did you mean VOUCH_LOG_LEVEL?',
      'VOUCH_PROT sets nothing: did you mean VOUCH_PORT?',
    ]);
  });

  it('is printed without credentials', () => {
    const config = loadConfig({ VOUCH_NATS_URL: 'nats://user:secret@a:1,nats://token@b:2' });
    expect(printableConfig(config).nats.url).to.equal('nats://***@a:1,nats://***@b:2');
    expect(JSON.stringify(printableConfig(config))).to.not.match(/secret|token/);
  });

  it('has a variable for every setting of the default file, and examples that load', () => {
    const leaves = (part: object, path: string): string[] =>
      Object.entries(part).flatMap(([key, value]) =>
        typeof value === 'object' && value !== null && key !== 'rateLimits' && Object.keys(value).length > 0
          ? leaves(value, `${path}${key}.`)
          : [`${path}${key}`],
      );
    const defaults = JSON.parse(readFileSync(join(CONFIG_FOLDER, 'default.json'), 'utf8')) as object;
    expect(leaves(defaults, '').sort()).to.deep.equal(Object.keys(SETTINGS).sort());
    const examples = readdirSync(CONFIG_FOLDER).filter((name) => name.endsWith('.example.json'));
    expect(examples).to.include.members(['cluster.example.json', 'standalone.example.json']);
    for (const name of examples) loadConfig({ VOUCH_CONFIG: join(CONFIG_FOLDER, name) });
  });
});
