/** Reads the memory of a process, which Linux allows to its tracer: its parent, or root. */
import { type FileHandle, open, readFile } from 'node:fs/promises';

const PIECE_BYTES = 4 << 20;
const PAGE_BYTES = 4_096;

/** Names of the secrets found in the memory of the process; undefined if it cannot be read here. */
export async function secretsInMemory(
  pid: number,
  secrets: Readonly<Record<string, Uint8Array>>,
): Promise<readonly string[] | undefined> {
  const memory = await open(`/proc/${pid}/mem`, 'r').catch(() => undefined);
  if (memory === undefined) return undefined;
  try {
    const wanted = Object.entries(secrets).map(([name, bytes]) => ({ name, bytes: Buffer.from(bytes) }));
    const longest = Math.max(...wanted.map(({ bytes }) => bytes.length));
    const found = new Set<string>();
    for (const { from, to } of await rangesOf(pid))
      for (let at = from; at < to; at += PIECE_BYTES) {
        const piece = await readPages(memory, at, Math.min(PIECE_BYTES + longest, to - at));
        for (const { name, bytes } of wanted) if (piece.includes(bytes)) found.add(name);
      }
    return [...found].sort();
  } finally {
    await memory.close();
  }
}

/** Readable ranges, mapped files included. */
async function rangesOf(pid: number): Promise<readonly { readonly from: number; readonly to: number }[]> {
  const lines = (await readFile(`/proc/${pid}/maps`, 'utf8')).split('\n');
  return lines.flatMap((line) => {
    const [, from = '', to = '', rights = ''] = /^([0-9a-f]+)-([0-9a-f]+) (\S+)/.exec(line) ?? [];
    return rights.startsWith('r') ? [{ from: Number.parseInt(from, 16), to: Number.parseInt(to, 16) }] : [];
  });
}

/** Zeros replace pages that do not exist or were released meanwhile. */
async function readPages(memory: FileHandle, at: number, length: number): Promise<Buffer> {
  const piece = Buffer.alloc(length);
  for (let done = 0; done < length; ) {
    const { bytesRead } = await memory.read(piece, done, length - done, at + done).catch(() => ({ bytesRead: 0 }));
    done += bytesRead === 0 ? PAGE_BYTES : bytesRead;
  }
  return piece;
}
