/** Certificates for tests, made by openssl. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

export function hasOpenSsl(): boolean {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

export interface Authority {
  /** Path of the authority's own certificate. */
  readonly ca: string;
  readonly certificate: (name: string) => { cert: string; key: string };
}

/**
 * Makes an authority in the folder. Its `certificate` makes a certificate for the address, and replaces one of the same
 * name.
 */
export function authority(folder: string, address = 'IP:127.0.0.1'): Authority {
  const at = (name: string): string => join(folder, name);
  const openssl = (...args: string[]): Buffer => execFileSync('openssl', args, { stdio: 'pipe', cwd: folder });
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  openssl('req', '-x509', ...newKey, '-keyout', 'ca.key', '-out', 'ca.pem', '-subj', '/CN=authority', '-days', '2');
  const certificate = (name: string): { cert: string; key: string } => {
    const request = ['-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`];
    openssl('req', ...newKey, ...request, '-addext', `subjectAltName=${address}`);
    const signing = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-copy_extensions', 'copy'];
    openssl('x509', '-req', '-in', `${name}.csr`, ...signing, '-days', '2', '-out', `${name}.pem`);
    return { cert: at(`${name}.pem`), key: at(`${name}.key`) };
  };
  return { ca: at('ca.pem'), certificate };
}
