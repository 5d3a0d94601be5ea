/**
 * The certificate of HTTPS and its renewal.
 *
 * ```text
 * served ──new content, unchanged for two looks──▶ checked ──usable──▶ served
 *                                                     └──unusable──▶ the previous one is still served; one log line
 * ```
 */
import { X509Certificate } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { Clock } from '../../shared/clock.js';
import { messageOf } from '../../shared/errors/errors.js';
import { codeOf, STRANGERS_MODE } from '../../shared/files/durable.js';
import type { Logger } from '../../shared/logger.js';
import { PeriodicTask } from '../../shared/scheduling/periodicTask.js';
import type { KeyPair, ServedCertificate } from './engine/engine.js';

const LOOK_MS = 2_000;

export interface CertificateOptions {
  readonly certFile: string;
  readonly keyFile: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly lookMs?: number;
}

export class Certificate implements ServedCertificate {
  readonly certFile: string;
  readonly keyFile: string;
  readonly #looks: PeriodicTask;
  readonly #listeners: (() => void)[] = [];
  /** The files at the last look: files that are being written change between two looks. */
  #seen: string;
  /** The files that were refused last. */
  #refused: string | undefined;

  private constructor(
    private readonly options: CertificateOptions,
    private pair: KeyPair,
  ) {
    ({ certFile: this.certFile, keyFile: this.keyFile } = options);
    this.#seen = textOf(pair);
    this.#looks = new PeriodicTask(() => this.#look(), options.lookMs ?? LOOK_MS);
    this.#looks.start();
  }

  /** Throws an Error of one line if the files cannot be used. An expired certificate is served, with a warning. */
  static async open(options: CertificateOptions): Promise<Certificate> {
    const certificate = new Certificate(options, usable(await readPair(options)));
    const { certFile, clock, logger } = options;
    if (certificate.expiresSecs * 1000 <= clock.nowMs())
      logger.warn({ certificate: certFile }, 'the certificate of HTTPS has expired');
    return certificate;
  }

  get current(): KeyPair {
    return this.pair;
  }

  /** When the served certificate expires, unix seconds. */
  get expiresSecs(): number {
    return expiryOf(this.pair) / 1000;
  }

  onRenewed(listener: () => void): void {
    this.#listeners.push(listener);
  }

  async stop(): Promise<void> {
    await this.#looks.stop();
  }

  async #look(): Promise<void> {
    const { certFile: certificate, clock, logger } = this.options;
    const found = await readPair(this.options).catch(messageOf);
    const text = typeof found === 'string' ? found : textOf(found);
    const isStable = text === this.#seen;
    this.#seen = text;
    if (!isStable || text === textOf(this.pair) || text === this.#refused) return;
    try {
      if (typeof found === 'string') throw new Error(found);
      if (expiryOf(usable(found)) <= clock.nowMs()) throw new Error('it has expired');
      this.pair = found;
      for (const listener of this.#listeners) listener();
      this.#refused = undefined;
      logger.info({ certificate, expiresSecs: this.expiresSecs }, 'the certificate of HTTPS is renewed');
    } catch (error) {
      this.#refused = text;
      const problem = { certificate, error: messageOf(error) };
      logger.error(problem, 'the new certificate of HTTPS cannot be used; the previous one is still served');
    }
  }
}

const textOf = ({ cert, key }: KeyPair): string => `${cert}\0${key}`;
const expiryOf = ({ cert }: KeyPair): number => Date.parse(new X509Certificate(cert).validTo);

/** Throws an Error of one line. */
async function readPair({ certFile, keyFile }: CertificateOptions): Promise<KeyPair> {
  const read = (file: string): Promise<string> =>
    readFile(file, 'utf8').catch((error: unknown) => {
      throw new Error(`${file} cannot be read (${codeOf(error) ?? messageOf(error)})`);
    });
  const [cert, key] = await Promise.all([read(certFile), read(keyFile)]);
  // The file's group may read the key: certificates are often shared that way.
  if (((await stat(keyFile)).mode & STRANGERS_MODE) !== 0)
    throw new Error(`${keyFile} can be read by every user of this machine; run: chmod o= ${keyFile}`);
  return { cert, key };
}

/** Returns the pair. Throws an Error of one line if the two do not belong together. */
function usable(pair: KeyPair): KeyPair {
  try {
    expiryOf(pair);
    createSecureContext(pair);
    return pair;
  } catch (error) {
    throw new Error(`VOUCH_TLS_CERT and VOUCH_TLS_KEY name no certificate and its key: ${messageOf(error)}`);
  }
}
