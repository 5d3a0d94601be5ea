/**
 * Finds secrets in all files below a folder: as bytes, in hex, and in base64 at any offset. Reads piece by piece, so
 * that it can search a store of gigabytes.
 */
import { open, readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';

export interface FoundBytes {
  readonly name: string;
  readonly form: 'raw' | 'hex' | 'base64';
  /** Path relative to the folder. */
  readonly file: string;
  readonly offset: number;
}

interface Pattern {
  readonly name: string;
  readonly form: FoundBytes['form'];
  readonly bytes: Buffer;
}

const PIECE_BYTES = 1 << 20;
/** Shorter secrets would be found by chance in a large store. */
const SECRET_MIN_BYTES = 12;

/** Every place of every secret, given by name, in no particular order. Skips files that vanish meanwhile. */
export async function findBytes(
  folder: string,
  secrets: Readonly<Record<string, Uint8Array>>,
): Promise<readonly FoundBytes[]> {
  const patterns = Object.entries(secrets).flatMap(([name, secret]) => patternsOf(name, Buffer.from(secret)));
  const found: FoundBytes[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath ?? entry.path, entry.name);
    for (const hit of await searchFile(path, patterns)) found.push({ ...hit, file: relative(folder, path) });
  }
  return found;
}

function patternsOf(name: string, secret: Buffer): readonly Pattern[] {
  if (secret.length < SECRET_MIN_BYTES)
    throw new RangeError(`${name} has less than ${SECRET_MIN_BYTES} bytes, and could be found by chance`);
  const hex = secret.toString('hex');
  const texts = new Map<string, FoundBytes['form']>([
    [hex, 'hex'],
    [hex.toUpperCase(), 'hex'],
  ]);
  for (const encoding of ['base64', 'base64url'] as const)
    for (const before of [0, 1, 2]) texts.set(base64Within(secret, before, encoding), 'base64');
  const written = [...texts].map(([text, form]) => ({ name, form, bytes: Buffer.from(text, 'latin1') }));
  return [{ name, form: 'raw', bytes: secret }, ...written];
}

/** Base64 digits that depend on the secret alone when it begins `before` bytes after a multiple of three. */
function base64Within(secret: Buffer, before: number, encoding: 'base64' | 'base64url'): string {
  const digits = Buffer.concat([Buffer.alloc(before), secret]).toString(encoding);
  const from = Math.ceil((before * 8) / 6);
  const to = Math.floor(((before + secret.length) * 8) / 6);
  return digits.slice(from, to);
}

async function searchFile(path: string, patterns: readonly Pattern[]): Promise<readonly Omit<FoundBytes, 'file'>[]> {
  const file = await open(path, 'r').catch(() => undefined);
  if (file === undefined) return [];
  const overlap = Math.max(0, ...patterns.map(({ bytes }) => bytes.length)) - 1;
  const piece = Buffer.alloc(PIECE_BYTES + overlap);
  const found: Omit<FoundBytes, 'file'>[] = [];
  let at = 0;
  try {
    for (;;) {
      const { bytesRead } = await file.read(piece, 0, piece.length, at);
      // A match in the overlap is found again in the next piece.
      for (const { name, form, bytes } of patterns)
        for (const offset of offsetsIn(piece.subarray(0, bytesRead), bytes))
          if (offset < PIECE_BYTES) found.push({ name, form, offset: at + offset });
      if (bytesRead < piece.length) return found;
      at += PIECE_BYTES;
    }
  } finally {
    await file.close();
  }
}

function* offsetsIn(bytes: Buffer, pattern: Buffer): Generator<number> {
  for (let at = bytes.indexOf(pattern); at >= 0; at = bytes.indexOf(pattern, at + 1)) yield at;
}
