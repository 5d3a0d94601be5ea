/** A service with its own witnesses, all of them processes. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openSigner, type Signer } from '../../../shared/signing/signer.js';
import {
  ED25519,
  formatVerifierKey,
  type Policy,
  parseNote,
  parsePolicy,
  parseTreeHead,
  type TreeHead,
  type VerifierKey,
  verifierKey,
} from '../../../verifier/index.js';
import { freePort } from '../launch/freePort.js';
import { type Launched, launchNode } from '../launch/process.js';
import { type Mode, Service, type Settings } from '../launch/service.js';

const script = (name: string): string => fileURLToPath(new URL(`../../../scripts/${name}.js`, import.meta.url));
export const LOG_ORIGIN = 'vouch.example/log';
/** First output line of a witness: its name, verifier key and URL. */
export const STARTED = /^witness (\S+) (\S+) (\S+)$/;

export class WitnessedService {
  readonly folder: string;
  readonly service: Service;
  readonly signer: Signer;
  readonly key: VerifierKey;
  readonly policyFile: string;
  readonly policy: Policy;

  private constructor(
    parts: Pick<WitnessedService, 'folder' | 'service' | 'signer' | 'key' | 'policyFile' | 'policy'>,
    private readonly witnesses: Launched[],
    private readonly ports: readonly number[],
  ) {
    ({
      folder: this.folder,
      service: this.service,
      signer: this.signer,
      key: this.key,
      policyFile: this.policyFile,
      policy: this.policy,
    } = parts);
  }

  /**
   * Starts two witnesses and a service, which requires `quorum` cosignatures. Further witnesses are started by `others`.
   * It gets the verifier key of the log, and returns their policy lines.
   */
  static async start(
    mode: Mode,
    quorum: number,
    settings: Settings = {},
    others: (logKey: string) => Promise<readonly string[]> = async () => [],
  ): Promise<WitnessedService> {
    const folder = await mkdtemp(join(tmpdir(), 'vouch-witnessed-'));
    const signer = await openSigner(join(folder, 'log.key'));
    const key = verifierKey(LOG_ORIGIN, ED25519, signer.publicKey);
    const ports = [await freePort(), await freePort()];
    const witnesses = ports.map((port, i) => launchWitness(folder, key, i + 1, port));
    const lines = await Promise.all(witnesses.map(started));
    const more = await others(formatVerifierKey(key));
    const text = [
      `log ${formatVerifierKey(key)}`,
      ...lines.map(({ vkey, url }, i) => `witness w${i + 1} ${vkey} ${url}`),
      ...more,
      `group enough ${quorum} ${[...lines, ...more].map((_, i) => `w${i + 1}`).join(' ')}`,
      'quorum enough\n',
    ].join('\n');
    const policyFile = join(folder, 'policy');
    await writeFile(policyFile, text);
    const service = await Service.start(mode, {
      ...{ VOUCH_LOG_KEY_FILE: join(folder, 'log.key'), VOUCH_LOG_ORIGIN: LOG_ORIGIN, VOUCH_LOG_EVERY_MS: '200' },
      ...{ VOUCH_WITNESSES: policyFile, ...settings },
    });
    const policy = parsePolicy(text);
    return new WitnessedService({ folder, service, signer, key, policyFile, policy }, witnesses, ports);
  }

  /** kill -9 of witness `n`, from 1. */
  async killWitness(n: number): Promise<void> {
    await this.witnesses[n - 1]!.kill();
  }

  async restartWitness(n: number): Promise<void> {
    this.witnesses[n - 1] = launchWitness(this.folder, this.key, n, this.ports[n - 1]!);
    await started(this.witnesses[n - 1]!);
  }

  /** Everything that witness `n` has printed. */
  printedBy(n: number): string {
    return this.witnesses[n - 1]!.output;
  }

  /** Resolves when witness `n` has printed such a line. */
  async untilPrinted(n: number, line: RegExp): Promise<void> {
    await this.witnesses[n - 1]!.waitForLine(line);
  }

  urlOf(n: number): string {
    return `http://127.0.0.1:${this.ports[n - 1]}`;
  }

  async checkpoint(): Promise<TreeHead & { readonly note: string }> {
    const note = await (await fetch(`${this.service.url}/log/checkpoint`)).text();
    return { ...parseTreeHead(parseNote(note).text), note };
  }

  /** Resolves when the published checkpoint has at least `size` entries and the cosignatures of exactly these witnesses. */
  async untilCosigned(names: readonly string[], size = 1): Promise<void> {
    await this.service.until(async () => {
      const { note, size: entries } = await this.checkpoint();
      const by = parseNote(note).signatures.map(({ name }) => name.split('.')[0]);
      return entries >= size && by.slice(1).sort().join() === [...names].sort().join();
    });
  }

  async stop(): Promise<void> {
    await this.service.stop();
    await Promise.all(this.witnesses.map((witness) => witness.stop()));
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** Starts witness `n`, counted from 1. The witness keeps its key and its checkpoint in `folder`. */
export const launchWitness = (folder: string, key: VerifierKey, n: number, port: number): Launched =>
  launchNode(
    script('witness'),
    [
      ...['--name', `w${n}.example`, '--log', formatVerifierKey(key), '--folder', join(folder, `witness${n}`)],
      ...['--listen', `127.0.0.1:${port}`],
    ],
    { env: { INIT_CWD: undefined } },
  );

async function started(witness: Launched): Promise<{ readonly vkey: string; readonly url: string }> {
  const [, , vkey, url] = STARTED.exec(await witness.waitForLine(STARTED))!;
  return { vkey: vkey!, url: url! };
}

/** `npm run monitor` with its own state. */
export const runMonitor = (args: readonly string[], key?: string): Launched =>
  launchNode(script('monitor'), args, { env: { INIT_CWD: undefined, VOUCH_KEY: key } });
