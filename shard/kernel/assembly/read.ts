import { sumOf } from './lanes';

/**
 * Reads `sizeBytes` (a multiple of 512) as fast as one thread can, in eight streams, and returns their sum: what the
 * bench measures a scan against.
 */
export function readAll(from: usize, sizeBytes: usize): u64 {
  const apart = sizeBytes >> 3;
  const end = from + apart;
  let a = i64x2.splat(0);
  let b = a;
  let c = a;
  let d = a;
  for (let line = from; line < end; line += 64) {
    for (let stream: usize = 0; stream < 8; stream++) {
      const part = line + stream * apart;
      a = i64x2.add(a, v128.load(part));
      b = i64x2.add(b, v128.load(part, 16));
      c = i64x2.add(c, v128.load(part, 32));
      d = i64x2.add(d, v128.load(part, 48));
    }
  }
  a = i64x2.add(i64x2.add(a, b), i64x2.add(c, d));
  return sumOf(a);
}
