/**
 * The Kubernetes chart, rendered by Helm and checked against Kubernetes' schemas. Needs `helm` and, for Python, the
 * package `kubernetes-validate`. If `helm dependency update deploy/helm/vouch` has fetched the NATS chart, that is
 * rendered too.
 */
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { loadConfig } from '../../config/load.js';
import { findTool, runTool } from '../support/launch/foreignTool.js';
import { skip } from '../support/skip.js';
import { ROOT } from '../support/sourceTree.js';

const CHART = join(ROOT, 'deploy/helm/vouch');
const OTHERS = 'natsUrl="nats://elsewhere:4222"';
/** The oldest supported version, and a new one. */
const KUBERNETES = ['1.27', '1.36'];

/** Reads YAML documents, and prints them with their errors. Kinds of operators have no schema. */
const VALIDATE = `
import json, sys, yaml, kubernetes_validate
documents = [document for document in yaml.safe_load_all(sys.stdin) if document]
wrong = []
for document in documents:
    for version in sys.argv[1:]:
        try:
            kubernetes_validate.validate(document, version, strict=True)
        except kubernetes_validate.SchemaNotFoundError:
            if document['apiVersion'] != 'monitoring.coreos.com/v1': raise
        except kubernetes_validate.ValidationError as error:
            wrong.append(f"{version} {document['kind']} {document['metadata']['name']}: {error.message}")
print(json.dumps({'documents': documents, 'wrong': wrong}))
`;

const hasSchemas = async (python: string): Promise<boolean> =>
  (await runTool(python, ['-c', 'import yaml, kubernetes_validate'])).code === 0;

interface Container {
  readonly name: string;
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
  readonly [field: string]: unknown;
}

interface PodSpec {
  readonly securityContext?: object;
  readonly enableServiceLinks: boolean;
  readonly automountServiceAccountToken: boolean;
  readonly terminationGracePeriodSeconds: number;
  readonly initContainers?: readonly Container[];
  readonly containers: readonly Container[];
  readonly volumes: readonly { readonly name: string; readonly secret?: { readonly secretName: string } }[];
}

interface Resource {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels: object };
  readonly data?: Readonly<Record<string, string>>;
  // biome-ignore lint/suspicious/noExplicitAny: every kind has a spec of its own
  readonly spec: any;
}

describe('the Helm chart', () => {
  const helm = findTool('helm');
  const python = findTool('python3');
  let folder: string;
  let chart: string;
  let hasNats = true;

  before(async function () {
    const hasAll = helm !== undefined && python !== undefined && (await hasSchemas(python));
    if (!hasAll) skip(this, 'helm, or the Python package kubernetes-validate, is not installed');
    folder = mkdtempSync(join(tmpdir(), 'vouch-test-'));
    chart = join(folder, 'vouch');
    cpSync(CHART, chart, { recursive: true });
    if (existsSync(join(chart, 'charts'))) return;
    hasNats = false;
    mkdirSync(join(chart, 'charts/nats'), { recursive: true });
    // Helm refuses a chart with a missing part.
    const [, version] = /name: nats\s+version: (\S+)/.exec(readFileSync(join(chart, 'Chart.yaml'), 'utf8')) ?? [];
    writeFileSync(join(chart, 'charts/nats/Chart.yaml'), `apiVersion: v2\nname: nats\nversion: ${version}\n`);
  });

  after(() => {
    if (folder !== undefined) rmSync(folder, { recursive: true });
  });

  const template = (...settings: string[]) =>
    runTool(helm!, [
      ...['template', 'vouch', chart, '--kube-version', '1.31.0'],
      ...settings.flatMap((setting) => ['--set-json', setting]),
    ]);

  /** The resources; each fits Kubernetes' schema. */
  async function rendered(...settings: string[]): Promise<Resource[]> {
    const { code, stdout, output } = await template(...settings);
    expect(code, output).to.equal(0);
    const validated = await runTool(python!, ['-c', VALIDATE, ...KUBERNETES], stdout);
    expect(validated.code, validated.output).to.equal(0);
    const { documents, wrong } = JSON.parse(validated.stdout) as { documents: Resource[]; wrong: string[] };
    expect(wrong).to.deep.equal([]);
    return documents;
  }

  const find = (resources: readonly Resource[], kind: string, name: string): Resource =>
    resources.find((resource) => resource.kind === kind && resource.metadata.name === name)!;
  const podOf = (resource: Resource): PodSpec => resource.spec.template.spec;
  const podsIn = (resources: readonly Resource[]): PodSpec[] => [
    ...resources.filter(({ spec }) => spec?.template !== undefined).map(podOf),
    find(resources, 'Pod', 'vouch-health').spec,
  ];
  const variableOf = ({ env = [] }: Container, variable: string) => env.find(({ name }) => name === variable)?.value;

  it('renders every part of a cluster', async () => {
    const resources = await rendered('serviceMonitor={"enabled":true}', 'ingress={"enabled":true}');
    const names = resources.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    expect(names).to.include.members([
      ...['StatefulSet vouch-shard', 'Deployment vouch-coordinator', 'Service vouch', 'Service vouch-metrics'],
      ...['PodDisruptionBudget vouch-shard', 'PodDisruptionBudget vouch-coordinator', 'Ingress vouch'],
      ...['NetworkPolicy vouch-coordinator', 'NetworkPolicy vouch-shard', 'NetworkPolicy vouch-nats'],
      ...['ServiceMonitor vouch', 'Pod vouch-health', 'Job vouch-streams-1'],
    ]);
    expect(names.filter((name) => /^(?:Secret|Role|ClusterRole) /.test(name))).to.deep.equal([]);
  });

  it('gives a shard enough time to hand its collections over', async () => {
    for (const [drainTimeoutMs, seconds] of [
      [60_000, 90],
      [125_500, 156],
    ]) {
      const resources = await rendered(`shards={"drainTimeoutMs":${drainTimeoutMs}}`);
      const pod = podOf(find(resources, 'StatefulSet', 'vouch-shard'));
      expect(pod.terminationGracePeriodSeconds).to.equal(seconds);
      expect(variableOf(pod.containers[0]!, 'VOUCH_DRAIN_TIMEOUT_MS')).to.equal(String(drainTimeoutMs));
    }
  });

  it('runs every container without privileges, on a read-only file system', async () => {
    const resources = await rendered();
    const pods = podsIn(resources);
    expect(pods.length).to.be.above(2);
    for (const pod of pods) {
      expect(pod.securityContext).to.include({ runAsNonRoot: true, runAsUser: 1000 });
      expect(pod.securityContext).to.deep.include({ seccompProfile: { type: 'RuntimeDefault' } });
      expect([pod.automountServiceAccountToken, pod.enableServiceLinks]).to.deep.equal([false, false]);
      for (const { name, securityContext } of [...(pod.initContainers ?? []), ...pod.containers])
        expect(securityContext, name).to.deep.equal({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
    }
  });

  it('leaves user and group to a cluster that assigns them, even for pods of NATS', async () => {
    const values = join(chart, 'openshift.yaml');
    const { code, stdout, output } = await runTool(helm!, [
      ...['template', 'vouch', chart, '--kube-version', '1.31.0', '--values', values],
    ]);
    expect(code, output).to.equal(0);
    expect(stdout).to.not.match(/(?:runAs(?:User|Group)|fsGroup): \d/);
    expect(stdout.match(/runAsNonRoot: true/g)!.length).to.be.above(3);
    const without = await rendered('podSecurityContext=null', 'securityContext=null', 'nats={"enabled":false}', OTHERS);
    for (const { securityContext, containers } of podsIn(without))
      expect([securityContext, ...containers.map((container) => container.securityContext)]).to.deep.equal(
        Array(containers.length + 1).fill(undefined),
      );
    const other = await rendered('podSecurityContext={"runAsUser":4321,"fsGroup":null}');
    expect(podOf(find(other, 'StatefulSet', 'vouch-shard')).securityContext)
      .to.include({ runAsUser: 4321, runAsNonRoot: true })
      .and.not.have.property('fsGroup');
  });

  it('takes every port from one value', async () => {
    const changed = 'nats={"config":{"nats":{"port":5222},"cluster":{"port":7222}}}';
    const resources = await rendered('ports={"http":9000,"metrics":9100}', 'ingress={"enabled":true}', changed);
    expect(JSON.stringify(resources)).to.not.match(/\b(?:8080|9090|4222|6222)\b/);
    const [coordinator] = podOf(find(resources, 'Deployment', 'vouch-coordinator')).containers;
    expect(coordinator!.ports).to.deep.equal([
      { name: 'http', containerPort: 9000, protocol: 'TCP' },
      { name: 'metrics', containerPort: 9100, protocol: 'TCP' },
    ]);
    expect(variableOf(coordinator!, 'VOUCH_PORT')).to.equal('9000');
    expect(variableOf(coordinator!, 'VOUCH_METRICS')).to.equal('0.0.0.0:9100');
    const portOf = (among: readonly Resource[], name: string) => find(among, 'Service', name).spec.ports[0].port;
    expect([portOf(resources, 'vouch'), portOf(resources, 'vouch-metrics')]).to.deep.equal([9000, 9100]);
    expect(portOf(await rendered('service={"port":443}'), 'vouch')).to.equal(443);
  });

  it('lets its processes connect to the ports of external NATS servers', async () => {
    const resources = await rendered(
      'nats={"enabled":false}',
      'natsUrl="tls://a:5222,nats://10.0.0.7,nats://[::1]:5222/"',
    );
    const { egress } = find(resources, 'NetworkPolicy', 'vouch-shard').spec;
    expect(egress[0].ports.map(({ port }: { port: number }) => port)).to.deep.equal([5222, 4222]);
  });

  it('gives the Ingress the body size and the timeouts that follow from the settings', async () => {
    const annotationsOf = async (...settings: string[]): Promise<Readonly<Record<string, string>>> => {
      const ingress = find(await rendered('ingress={"enabled":true}', ...settings), 'Ingress', 'vouch');
      return (ingress.metadata as unknown as { annotations: Record<string, string> }).annotations;
    };
    const nginx = 'nginx.ingress.kubernetes.io';
    const { rebuildMs, bodyBytes } = loadConfig({}).limits;
    const [seconds, mebibytes] = [rebuildMs / 1000 + 20, bodyBytes / 2 ** 20 + 1];
    const usual = await annotationsOf();
    expect(usual).to.include({
      ...{ [`${nginx}/proxy-body-size`]: `${mebibytes}m`, [`${nginx}/proxy-read-timeout`]: String(seconds) },
      ...{ [`${nginx}/proxy-http-version`]: '1.1', [`${nginx}/proxy-buffering`]: 'off' },
      ...{ [`${nginx}/proxy-request-buffering`]: 'off', [`${nginx}/connection-proxy-header`]: 'close' },
      ...{ 'haproxy.org/timeout-server': `${seconds}s`, 'haproxy-ingress.github.io/timeout-server': `${seconds}s` },
      'haproxy-ingress.github.io/proxy-body-size': `${mebibytes}m`,
    });
    expect(usual).to.not.have.any.keys(`${nginx}/backend-protocol`, 'haproxy.org/server-ssl');
    const longer = 'settings={"VOUCH_BODY_BYTES":"67108865","VOUCH_REBUILD_MS":"1000","VOUCH_DEADLINE_MS":"1000500"}';
    const own = `{"enabled":true,"annotations":{"${nginx}/proxy-buffering":"","${nginx}/proxy-connect-timeout":"9"}}`;
    const changed = await annotationsOf(longer, 'secrets={"tls":"edge-tls"}', `ingress=${own}`);
    expect(changed).to.include({
      ...{ [`${nginx}/proxy-body-size`]: '66m', [`${nginx}/proxy-read-timeout`]: '1021' },
      ...{ [`${nginx}/backend-protocol`]: 'HTTPS', 'haproxy.org/server-ssl': 'true' },
      ...{ [`${nginx}/proxy-connect-timeout`]: '9', 'haproxy-ingress.github.io/backend-protocol': 'h1-ssl' },
    });
    expect(changed).to.not.have.property(`${nginx}/proxy-buffering`);
  });

  it('gives a coordinator the time that an answer may take', async () => {
    for (const [settings, seconds] of [
      ['{}', 45],
      ['{"VOUCH_DEADLINE_MS":"60000"}', 95],
    ] as const) {
      const resources = await rendered(`settings=${settings}`);
      expect(podOf(find(resources, 'Deployment', 'vouch-coordinator')).terminationGracePeriodSeconds).to.equal(seconds);
    }
    const shard = podOf(find(await rendered('settings={"VOUCH_DEADLINE_MS":"60000"}'), 'StatefulSet', 'vouch-shard'));
    expect(shard.terminationGracePeriodSeconds).to.equal(140);
  });

  it('refuses every setting that it makes itself, and names the value', async () => {
    const everything = 'secrets={"logKey":"k","natsCa":"a","natsClient":"c"}';
    const witnesses = 'witnesses={"policy":"quorum none"}';
    const both = [await rendered(everything, witnesses), await rendered('secrets={"tls":"t"}')].flat();
    const made = podsIn(both).flatMap(({ containers }) => containers.flatMap(({ env = [] }) => env));
    const names = [...new Set(made.map(({ name }) => name))].filter((name) => name.startsWith('VOUCH_'));
    expect(names).to.include.members(['VOUCH_PORT', 'VOUCH_TLS_CERT', 'VOUCH_INSECURE_HTTP', 'VOUCH_NATS_CERT']);
    for (const name of names) {
      const { code, output } = await template(`settings={"${name}":"x"}`);
      expect(code, name).to.not.equal(0);
      expect(output).to.match(
        new RegExp(`settings\\.${name} is made by the chart: (?:set [a-z][A-Za-z.]+|leave it out)`),
      );
    }
    expect((await template('settings={"VOUCH_PORT":"9000"}')).output).to.include('set ports.http');
  });

  it('gives each role only its own Secrets, as files', async () => {
    const resources = await rendered();
    const secretsOf = (kind: string, name: string): string[] =>
      podOf(find(resources, kind, name)).volumes.flatMap(({ secret }) => secret?.secretName ?? []);
    expect(secretsOf('Deployment', 'vouch-coordinator')).to.deep.equal(['vouch-nats-coordinator']);
    expect(secretsOf('Job', 'vouch-streams-1')).to.deep.equal(['vouch-nats-admin']);
    expect(secretsOf('StatefulSet', 'vouch-shard')).to.have.members(['vouch-nats-shard', 'vouch-master-key']);
    for (const [kind, name, file] of [
      ['Deployment', 'vouch-coordinator', '/nats-user/coordinator.nk'],
      ['StatefulSet', 'vouch-shard', '/nats-user/shard.nk'],
      ['Job', 'vouch-streams-1', '/nats-user/admin.nk'],
    ] as const) {
      const [container] = podOf(find(resources, kind, name)).containers;
      expect(variableOf(container!, 'VOUCH_NATS_NKEY')).to.equal(file);
      expect(variableOf(container!, 'VOUCH_NATS_URL')).to.equal(
        [0, 1, 2].map((server) => `nats://vouch-nats-${server}.vouch-nats-headless:4222`).join(','),
      );
    }
  });

  it('opens shards to no pod, and NATS only to its own processes', async () => {
    const resources = await rendered();
    expect(find(resources, 'NetworkPolicy', 'vouch-shard').spec).to.deep.include({
      policyTypes: ['Ingress', 'Egress'],
      ingress: [],
    });
    const { ingress } = find(resources, 'NetworkPolicy', 'vouch-nats').spec;
    expect(ingress.map(({ ports }: { ports: { port: number }[] }) => ports[0]!.port)).to.deep.equal([4222, 6222]);
    expect(ingress[0].from).to.deep.equal([
      {
        podSelector: { matchLabels: { 'app.kubernetes.io/name': 'vouch', 'app.kubernetes.io/instance': 'vouch' } },
      },
    ]);
  });

  it('makes NATS servers accept only the users of its Secret', async function () {
    if (!hasNats) skip(this, 'the chart of NATS was not fetched (helm dependency update deploy/helm/vouch)');
    const resources = await rendered();
    const config = find(resources, 'ConfigMap', 'vouch-nats-config').data!['nats.conf']!;
    expect(config).to.match(/^\{\s+include \.\.\/nats-users\/users\.conf;/);
    // After the routes of the chart, which they replace.
    expect(config).to.match(/"routes": \[[^\]]+\],\s+include \.\.\/nats-users\/routes\.conf;/);
    expect(config)
      .to.match(/"server_tags": \[\s+\$SERVER_NAME\s+\]/)
      .and.include('"sync_interval": "always"');
    const { containers, volumes } = podOf(find(resources, 'StatefulSet', 'vouch-nats'));
    const users = volumes.find(({ name }) => name === 'users');
    expect(users?.secret?.secretName).to.equal('vouch-nats-servers');
    for (const { volumeMounts } of containers)
      expect(volumeMounts).to.deep.include({ name: 'users', mountPath: '/etc/nats-users', readOnly: true });
  });

  it('fails readiness, not liveness, of a coordinator that has lost the others', async () => {
    const pathOf = (probe: unknown) => (probe as { httpGet: { path: string; scheme: string } }).httpGet;
    const [plain] = podOf(find(await rendered(), 'Deployment', 'vouch-coordinator')).containers;
    expect(pathOf(plain!.readinessProbe)).to.deep.include({ path: '/health', scheme: 'HTTP' });
    expect(pathOf(plain!.livenessProbe)).to.deep.include({ path: '/openapi.json' });
    const secrets = 'secrets={"tls":"edge-tls","natsCa":"nats-ca"}';
    const [secure] = podOf(find(await rendered(secrets), 'Deployment', 'vouch-coordinator')).containers;
    expect(pathOf(secure!.readinessProbe)).to.deep.include({ path: '/health', scheme: 'HTTPS' });
    expect(variableOf(secure!, 'VOUCH_NATS_CA')).to.equal('/nats-ca/ca.crt');
  });

  it('gives every process a certificate for NATS servers that ask for one', async () => {
    const parts = ['Deployment vouch-coordinator', 'StatefulSet vouch-shard', 'Job vouch-streams-1'];
    const podsOf = (resources: readonly Resource[]): PodSpec[] =>
      parts.map((part) => podOf(find(resources, ...(part.split(' ') as [string, string]))));
    for (const { containers, volumes } of podsOf(await rendered('secrets={"natsClient":"nats-client-tls"}'))) {
      const [container] = containers;
      expect(variableOf(container!, 'VOUCH_NATS_CERT')).to.equal('/nats-client/tls.crt');
      expect(variableOf(container!, 'VOUCH_NATS_KEY')).to.equal('/nats-client/tls.key');
      expect(container!.volumeMounts).to.deep.include({
        ...{ name: 'nats-client', mountPath: '/nats-client', readOnly: true },
      });
      expect(volumes.find(({ name }) => name === 'nats-client')?.secret?.secretName).to.equal('nats-client-tls');
    }
    for (const { containers } of podsOf(await rendered()))
      expect(variableOf(containers[0]!, 'VOUCH_NATS_CERT')).to.equal(undefined);
  });

  it('gives coordinators the policy of witnesses, and network access to them, if there is one', async () => {
    const policy = ['witness w1 w1+abcdef01+key https://w1.example', 'quorum w1'].join('\n');
    const settings = [`witnesses={"policy":${JSON.stringify(`${policy}\n`)}}`, 'secrets={"logKey":"log-key"}'];
    const resources = await rendered(...settings);
    expect(find(resources, 'ConfigMap', 'vouch-witnesses').data).to.deep.equal({ policy: `${policy}\n` });
    const { containers, volumes } = podOf(find(resources, 'Deployment', 'vouch-coordinator'));
    expect(variableOf(containers[0]!, 'VOUCH_WITNESSES')).to.equal('/witnesses/policy');
    expect(containers[0]!.volumeMounts).to.deep.include({ name: 'witnesses', mountPath: '/witnesses', readOnly: true });
    expect(volumes).to.deep.include({ name: 'witnesses', configMap: { name: 'vouch-witnesses' } });
    const portsOf = (among: readonly Resource[], part: string): number[] =>
      find(among, 'NetworkPolicy', `vouch-${part}`).spec.egress.flatMap(({ ports }: { ports: { port: number }[] }) =>
        ports.map(({ port }) => port),
      );
    expect(portsOf(resources, 'coordinator')).to.deep.equal([4222, 53, 53, 443]);
    expect(portsOf(resources, 'shard')).to.deep.equal([4222, 53, 53]);
    const others = await rendered(...settings, 'witnesses.ports=[443,8443]');
    expect(portsOf(others, 'coordinator')).to.deep.equal([4222, 53, 53, 443, 8443]);
    const without = await rendered();
    expect(portsOf(without, 'coordinator')).to.deep.equal([4222, 53, 53]);
    expect(find(without, 'ConfigMap', 'vouch-witnesses')).to.equal(undefined);
    const keyless = await template(settings[0]!);
    expect(keyless.code).to.not.equal(0);
    expect(keyless.output).to.include('secrets.logKey is needed where witnesses.policy is set');
  });

  it('names a misspelt value, and one out of bounds', async () => {
    for (const [setting, named] of [
      ['shard={"replicas":3}', 'shard'],
      ['shards={"replica":3}', 'replica'],
      ['shards={"replicas":0}', '/shards/replicas'],
      ['secrets={"masterKey":""}', '/secrets/masterKey'],
      ['secrets={"natsCert":"x"}', 'natsCert'],
      ['witnesses={"ports":[0]}', '/witnesses/ports/0'],
      ['ports={"http":0}', '/ports/http'],
      ['service={"port":70000}', '/service/port'],
      ['settings={"FOLLOWERS":"1"}', 'FOLLOWERS'],
    ] as const) {
      const { code, output } = await template(setting);
      expect(code, setting).to.not.equal(0);
      expect(output).to.include("values don't meet the specifications of the schema").and.include(named);
    }
  });

  it('uses external NATS servers, and needs their addresses', async () => {
    const without = await template('nats={"enabled":false}');
    expect(without.code).to.not.equal(0);
    expect(without.output).to.include('natsUrl is needed where nats.enabled is false');
    const resources = await rendered('nats={"enabled":false}', OTHERS);
    const [shard] = podOf(find(resources, 'StatefulSet', 'vouch-shard')).containers;
    expect(variableOf(shard!, 'VOUCH_NATS_URL')).to.equal('nats://elsewhere:4222');
    expect(resources.filter(({ metadata }) => metadata.name.startsWith('vouch-nats'))).to.deep.equal([]);
  });
});
