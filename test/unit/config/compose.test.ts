// Covers: Dockerfile, docker-compose.yml, deploy/standalone.yml
/**
 * The Dockerfile, `docker-compose.yml` and `deploy/standalone.yml`, as far as they can be checked without a container
 * engine.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { parse } from 'yaml';
import { loadConfig } from '../../../config/load.js';
import { type KeyRequest, parseKeyRequest } from '../../../scripts/keys/request.js';
import { ROOT } from '../../support/sourceTree.js';

interface ComposeService {
  readonly image: string;
  readonly command?: readonly string[];
  readonly entrypoint?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly healthcheck?: object;
  readonly restart?: string;
  readonly stop_signal?: string;
  readonly stop_grace_period?: string;
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
}

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const lameDuckMs = (): number =>
  [...read('config/nats.cluster.conf').matchAll(/^lame_duck_(?:duration|grace_period): (\d+)s$/gm)]
    .map(([, seconds]) => Number(seconds) * 1_000)
    .reduce((sum, ms) => sum + ms, 0);

describe('the containers', () => {
  const { services, volumes } = parse(read('docker-compose.yml'), { merge: true }) as {
    services: Record<string, ComposeService>;
    volumes: Record<string, unknown>;
  };
  const named = (prefix: string): [string, ComposeService][] =>
    Object.entries(services).filter(([name]) => name.startsWith(prefix));

  it('are three NATS servers with separate volumes, two coordinators and three shards', () => {
    expect(named('nats')).to.have.length(3);
    expect(named('coordinator')).to.have.length(2);
    expect(named('shard').map(([, { command }]) => command?.slice(1))).to.deep.equal(
      ['s1', 's2', 's3'].map((name) => ['--single-threaded-gc', 'dist/shard/main.js', '--name', name]),
    );
    expect(new Set(named('nats').map(([, { volumes: mounts }]) => mounts![0]))).to.have.property('size', 3);
    for (const [, { volumes: mounts }] of named('nats')) expect(volumes).to.have.property(mounts![0]!.split(':')[0]!);
    const ports = named('coordinator').flatMap(([, service]) => service.ports!);
    const [api, metrics] = [':8080', ':9090'].map((port) => ports.filter((published) => published.endsWith(port)));
    expect(api).to.deep.equal(['127.0.0.1:8080:8080', '127.0.0.1:8081:8080']);
    expect(metrics).to.deep.equal(['127.0.0.1:9090:9090', '127.0.0.1:9091:9090']);
    expect(ports).to.have.length(4);
  });

  it('include a standalone service in deploy/standalone.yml, on loopback, with its data in a volume', () => {
    const { vouch } = (parse(read('deploy/standalone.yml')) as { services: Record<string, ComposeService> }).services;
    const { command, environment, ports, volumes: mounts } = vouch!;
    expect(loadConfig(environment!).mode).to.equal('standalone');
    expect(existsSync(join(ROOT, command!.at(-1)!.replace(/^dist(.*)\.js$/, '.$1.ts')))).to.equal(true);
    expect(ports).to.deep.equal(['127.0.0.1:8080:8080']);
    expect(mounts).to.deep.equal(['data:/data']);
    expect(read('Dockerfile')).to.include('VOUCH_DATA_DIR=/data');
  });

  it('all load their configuration, with three replicas in NATS', () => {
    for (const [name, { environment }] of [...named('coordinator'), ...named('shard'), ...named('keys')]) {
      const config = loadConfig(environment!);
      expect(config.nats.replicas, name).to.equal(3);
      expect(config.nats.url!.split(',').map((url) => new URL(url).hostname)).to.deep.equal(
        named('nats').map(([n]) => n),
      );
    }
  });

  it('serve the metrics of each coordinator at port 9090', () => {
    for (const [name, { environment }] of named('coordinator'))
      expect(loadConfig(environment!).metrics, name).to.deep.equal({ host: '0.0.0.0', port: 9090 });
  });

  it("keep each shard's data in a volume, and share one master key with the key tool", () => {
    const [shards, tools] = [named('shard'), named('keys')];
    const mounts = [...shards, ...tools].map(([, service]) => service.volumes!);
    for (const [, { environment }] of [...shards, ...tools])
      expect(loadConfig(environment!).masterKeyFile).to.equal('/keys/master.key');
    for (const mount of mounts.flat()) expect(volumes).to.have.property(mount.split(':')[0]!);
    expect(mounts.every((own) => own.includes('keys:/keys'))).to.equal(true);
    expect(new Set(shards.map(([, service]) => service.volumes![0])).size).to.equal(3);
    expect(read('Dockerfile')).to.match(
      /^RUN for folder in \/data \/keys \/log \/users \/users\/coordinator \/users\/shard \/users\/operator \/users\/admin; do \\\n +mkdir -m 770 \$folder; done$/m,
    );
  });

  it('let every user id read the program', () => {
    const copied = [...read('Dockerfile').matchAll(/^COPY --from=build \/vouch\/(\S+)/gm)].map(([, path]) =>
      path!.replace(/\/$/, ''),
    );
    const [, opened] = /^ +chmod -R a\+rX (.+)$/m.exec(read('Dockerfile'))!;
    expect(copied).to.have.members(opened!.split(' '));
  });

  it('share one key of the service log between all coordinators', () => {
    for (const [name, { environment, volumes: mounts }] of named('coordinator')) {
      expect(loadConfig(environment!).serviceLog.keyFile, name).to.equal('/log/log.key');
      expect(mounts, name).to.include('log-key:/log:ro');
    }
    expect(named('log-key')[0]![1].volumes).to.deep.equal(['log-key:/log']);
    expect(volumes).to.have.property('log-key');
  });

  it('start coordinators and shards when NATS is healthy, and each have a health check', () => {
    for (const [name, service] of [...named('coordinator'), ...named('shard')])
      for (const [nats] of named('nats'))
        expect(service.depends_on![nats]?.condition, name).to.equal('service_healthy');
    for (const [name, { healthcheck }] of named('nats')) expect(healthcheck, name).to.have.property('test');
    expect(read('Dockerfile'))
      .to.match(/^HEALTHCHECK /m)
      .and.match(/^USER 1000:0$/m);
  });

  it('restart after a failure, and get more time to stop than they need', () => {
    const { placement, limits } = loadConfig({});
    for (const [prefix, leastMs] of [
      ['shard', placement.drainTimeoutMs + limits.deadlineMs],
      ['coordinator', limits.deadlineMs],
      ['nats', lameDuckMs()],
    ] as const)
      for (const [name, { restart, stop_grace_period: grace }] of named(prefix)) {
        expect(restart, name).to.equal('unless-stopped');
        expect(Number.parseInt(grace!, 10) * 1_000, name).to.be.above(leastMs);
      }
    for (const [name, { stop_signal: signal }] of named('nats')) expect(signal, name).to.equal('SIGUSR2');
  });

  it('use configuration files and programs that exist', () => {
    const mounted = named('nats').map(([, service]) => service.volumes![1]!.split(':')[0]!);
    const compiled = Object.values(services).flatMap(({ command = [], entrypoint = [] }) =>
      [...entrypoint, ...command].filter((part) => part.startsWith('dist/')),
    );
    const sources = compiled.map((path) => path.replace(/^dist\//, '').replace(/\.js$/, '.ts'));
    for (const path of [...mounted, ...sources]) expect(existsSync(join(ROOT, path)), path).to.equal(true);
  });

  it('run NATS with a sync of each acknowledged message', () => {
    const nats = read('config/nats.cluster.conf');
    expect(nats)
      .to.match(/^ +sync_interval: always$/m)
      .and.match(/^max_payload: 16777216$/m);
    for (const [name, { environment }] of named('nats')) {
      expect(environment).to.deep.equal({ NATS_NAME: name });
    }
  });

  it('admit to NATS only the users that are made before its first start', () => {
    const nats = read('config/nats.cluster.conf');
    expect(nats)
      .to.match(/^include users\/users\.conf$/m)
      .and.match(/^cluster \{[^}]*^ {2}include users\/routes\.conf$/m);
    const { command } = services.users!;
    const { folder, routes } = parseKeyRequest(command!) as Extract<KeyRequest, { command: 'nats' }>;
    expect(routes).to.deep.equal(named('nats').map(([name]) => `${name}:6222`));
    const roles = ['coordinator', 'shard', 'operator', 'admin'];
    const ofRoles = roles.map((role) => `${role}-user:${folder}/${role}`);
    expect(services.users!.volumes).to.deep.equal([`users:${folder}`, ...ofRoles]);
    const { command: prepare, environment, volumes: mounts } = services.streams!;
    expect([prepare, loadConfig(environment!).nats.nkey]).to.deep.equal([['streams'], `${folder}/admin/seed.nk`]);
    expect(mounts).to.deep.equal([`admin-user:${folder}/admin:ro`]);
    for (const [name, { depends_on, volumes: mounts }] of named('nats')) {
      expect(depends_on!.users!.condition, name).to.equal('service_completed_successfully');
      expect(mounts, name).to.include('users:/etc/nats/users:ro');
    }
    for (const role of ['coordinator', 'shard'] as const)
      for (const [name, { environment, volumes: mounts }] of named(role)) {
        expect(loadConfig(environment!).nats.nkey, name).to.equal(`${folder}/${role}/seed.nk`);
        const users = mounts!.filter((mount) => mount.includes(folder));
        expect(users, name).to.deep.equal([`${role}-user:${folder}/${role}:ro`]);
        expect(services[name]!.depends_on!.streams!.condition, name).to.equal('service_completed_successfully');
      }
  });
});
