/**
 * BLAKE3 of messages that the host writes to memory (O'Connor, Aumasson, Neves, Wilcox-O'Hearn: "BLAKE3: one function, fast
 * everywhere", 2020). Four chunks, or four parents, are hashed side by side, each in its own lane of a vector.
 *
 * A long message is hashed in pieces of 64 chunks. Each piece is a whole subtree, whose chaining value the host keeps in a list.
 * Four messages of one size are hashed together, each in its lane.
 *
 * Memory: values of four lanes | their message words | orders of words | digest | values of a piece | piece | room | list.
 */
const LANES: usize = 0;
const WORDS: usize = 128;
const ORDERS: usize = 512;
const DIGEST: usize = 1024;
const VALUES: usize = 2048;
const PIECE: usize = 8192;
/** Behind the piece is room that lanes without a chunk read. */
const LIST: usize = 8192 + 65536 + 4096;

const BLOCK_BYTES: u32 = 64;
const CHUNK_BYTES: u32 = 1024;
const VALUE_BYTES: usize = 32;
/** The values of the chunks of one of four messages. */
const VALUES_BYTES: usize = 16 * VALUE_BYTES;
const VECTOR_BYTES: usize = 16;
const ROUNDS: usize = 7;
/** Bytes of the addresses of 16 message words. */
const ORDER_BYTES: usize = 64;

const CHUNK_START: u32 = 1;
const CHUNK_END: u32 = 2;
const PARENT: u32 = 4;
const ROOT: u32 = 8;

const IV_0: u32 = 0x6a09e667;
const IV_1: u32 = 0xbb67ae85;
const IV_2: u32 = 0x3c6ef372;
const IV_3: u32 = 0xa54ff53a;
const IV_4: u32 = 0x510e527f;
const IV_5: u32 = 0x9b05688c;
const IV_6: u32 = 0x1f83d9ab;
const IV_7: u32 = 0x5be0cd19;

@inline function rotated16(v: v128): v128 {
  return v128.shuffle<u8>(v, v, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
}

@inline function rotated8(v: v128): v128 {
  return v128.shuffle<u8>(v, v, 1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12);
}

@inline function rotated12(v: v128): v128 {
  return v128.or(i32x4.shr_u(v, 12), i32x4.shl(v, 20));
}

@inline function rotated7(v: v128): v128 {
  return v128.or(i32x4.shr_u(v, 7), i32x4.shl(v, 25));
}

/** The message word with index `i` in the order of a round. */
@inline function wordAt(order: usize, i: usize): v128 {
  return v128.load(load<u32>(order + 4 * i));
}

@inline function laneAt(i: usize): usize {
  return LANES + i * VECTOR_BYTES;
}

/** Writes the orders of the message words in the rounds. Call it before all others. */
export function prepare(): void {
  for (let i: usize = 0; i < 16; i++) store<u32>(ORDERS + 4 * i, u32(WORDS + VECTOR_BYTES * i));
  for (let at = ORDERS + ORDER_BYTES; at < ORDERS + ROUNDS * ORDER_BYTES; at += ORDER_BYTES) {
    permute(at, 0, 2);
    permute(at, 1, 6);
    permute(at, 2, 3);
    permute(at, 3, 10);
    permute(at, 4, 7);
    permute(at, 5, 0);
    permute(at, 6, 4);
    permute(at, 7, 13);
    permute(at, 8, 1);
    permute(at, 9, 11);
    permute(at, 10, 12);
    permute(at, 11, 5);
    permute(at, 12, 9);
    permute(at, 13, 14);
    permute(at, 14, 15);
    permute(at, 15, 8);
  }
}

@inline function permute(order: usize, to: usize, from: usize): void {
  store<u32>(order + 4 * to, load<u32>(order - ORDER_BYTES + 4 * from));
}

/** Stores the transpose of four vectors of four words: each stored vector has one word of each of them. */
@inline function storeTransposed(at: usize, distance: usize, a: v128, b: v128, c: v128, d: v128): void {
  const ab = v128.shuffle<u32>(a, b, 0, 4, 1, 5);
  const cd = v128.shuffle<u32>(c, d, 0, 4, 1, 5);
  v128.store(at, v128.shuffle<u64>(ab, cd, 0, 2));
  v128.store(at + distance, v128.shuffle<u64>(ab, cd, 1, 3));
  const abHigh = v128.shuffle<u32>(a, b, 2, 6, 3, 7);
  const cdHigh = v128.shuffle<u32>(c, d, 2, 6, 3, 7);
  v128.store(at + 2 * distance, v128.shuffle<u64>(abHigh, cdHigh, 0, 2));
  v128.store(at + 3 * distance, v128.shuffle<u64>(abHigh, cdHigh, 1, 3));
}

/** Stores the message words of a block of each lane. */
@inline function storeWords(at: usize, stride: usize): void {
  for (let from = at, to = WORDS; from < at + BLOCK_BYTES; from += VECTOR_BYTES, to += 4 * VECTOR_BYTES)
    storeTransposed(
      to,
      VECTOR_BYTES,
      v128.load(from),
      v128.load(from + stride),
      v128.load(from + 2 * stride),
      v128.load(from + 3 * stride),
    );
}

/**
 * Hashes four messages of `sizeBytes`, `stride` bytes apart, and writes their values to `out`, `outStride` bytes apart. Zeros must
 * follow each up to the end of its block. `counter` is that of the first message, `step` the difference between two. Each block gets
 * `flags`; the first block gets `first` too, and the last one `last`.
 */
function hashFour(at: usize, stride: usize, sizeBytes: u32, counter: u32, step: u32, flags: u32, first: u32, last: u32, out: usize, outStride: usize = VALUE_BYTES): void {
  v128.store(laneAt(0), i32x4.splat(IV_0));
  v128.store(laneAt(1), i32x4.splat(IV_1));
  v128.store(laneAt(2), i32x4.splat(IV_2));
  v128.store(laneAt(3), i32x4.splat(IV_3));
  v128.store(laneAt(4), i32x4.splat(IV_4));
  v128.store(laneAt(5), i32x4.splat(IV_5));
  v128.store(laneAt(6), i32x4.splat(IV_6));
  v128.store(laneAt(7), i32x4.splat(IV_7));
  const counters = i32x4.add(i32x4.splat(counter), i32x4.mul(i32x4.splat(step), i32x4(0, 1, 2, 3)));
  let left = sizeBytes;
  let now = flags | first;
  while (true) {
    const isLast = left <= BLOCK_BYTES;
    if (isLast) now |= last;
    storeWords(at, stride);
    let s0 = v128.load(laneAt(0));
    let s1 = v128.load(laneAt(1));
    let s2 = v128.load(laneAt(2));
    let s3 = v128.load(laneAt(3));
    let s4 = v128.load(laneAt(4));
    let s5 = v128.load(laneAt(5));
    let s6 = v128.load(laneAt(6));
    let s7 = v128.load(laneAt(7));
    let s8 = i32x4.splat(IV_0);
    let s9 = i32x4.splat(IV_1);
    let s10 = i32x4.splat(IV_2);
    let s11 = i32x4.splat(IV_3);
    let s12 = counters;
    let s13 = i32x4.splat(0);
    let s14 = i32x4.splat(min(left, BLOCK_BYTES));
    let s15 = i32x4.splat(now);
    for (let order = ORDERS; order < ORDERS + ROUNDS * ORDER_BYTES; order += ORDER_BYTES) {
      // Columns.
      s0 = i32x4.add(i32x4.add(s0, s4), wordAt(order, 0));
      s1 = i32x4.add(i32x4.add(s1, s5), wordAt(order, 2));
      s2 = i32x4.add(i32x4.add(s2, s6), wordAt(order, 4));
      s3 = i32x4.add(i32x4.add(s3, s7), wordAt(order, 6));
      s12 = rotated16(v128.xor(s12, s0));
      s13 = rotated16(v128.xor(s13, s1));
      s14 = rotated16(v128.xor(s14, s2));
      s15 = rotated16(v128.xor(s15, s3));
      s8 = i32x4.add(s8, s12);
      s9 = i32x4.add(s9, s13);
      s10 = i32x4.add(s10, s14);
      s11 = i32x4.add(s11, s15);
      s4 = rotated12(v128.xor(s4, s8));
      s5 = rotated12(v128.xor(s5, s9));
      s6 = rotated12(v128.xor(s6, s10));
      s7 = rotated12(v128.xor(s7, s11));
      s0 = i32x4.add(i32x4.add(s0, s4), wordAt(order, 1));
      s1 = i32x4.add(i32x4.add(s1, s5), wordAt(order, 3));
      s2 = i32x4.add(i32x4.add(s2, s6), wordAt(order, 5));
      s3 = i32x4.add(i32x4.add(s3, s7), wordAt(order, 7));
      s12 = rotated8(v128.xor(s12, s0));
      s13 = rotated8(v128.xor(s13, s1));
      s14 = rotated8(v128.xor(s14, s2));
      s15 = rotated8(v128.xor(s15, s3));
      s8 = i32x4.add(s8, s12);
      s9 = i32x4.add(s9, s13);
      s10 = i32x4.add(s10, s14);
      s11 = i32x4.add(s11, s15);
      s4 = rotated7(v128.xor(s4, s8));
      s5 = rotated7(v128.xor(s5, s9));
      s6 = rotated7(v128.xor(s6, s10));
      s7 = rotated7(v128.xor(s7, s11));
      // Diagonals.
      s0 = i32x4.add(i32x4.add(s0, s5), wordAt(order, 8));
      s1 = i32x4.add(i32x4.add(s1, s6), wordAt(order, 10));
      s2 = i32x4.add(i32x4.add(s2, s7), wordAt(order, 12));
      s3 = i32x4.add(i32x4.add(s3, s4), wordAt(order, 14));
      s15 = rotated16(v128.xor(s15, s0));
      s12 = rotated16(v128.xor(s12, s1));
      s13 = rotated16(v128.xor(s13, s2));
      s14 = rotated16(v128.xor(s14, s3));
      s10 = i32x4.add(s10, s15);
      s11 = i32x4.add(s11, s12);
      s8 = i32x4.add(s8, s13);
      s9 = i32x4.add(s9, s14);
      s5 = rotated12(v128.xor(s5, s10));
      s6 = rotated12(v128.xor(s6, s11));
      s7 = rotated12(v128.xor(s7, s8));
      s4 = rotated12(v128.xor(s4, s9));
      s0 = i32x4.add(i32x4.add(s0, s5), wordAt(order, 9));
      s1 = i32x4.add(i32x4.add(s1, s6), wordAt(order, 11));
      s2 = i32x4.add(i32x4.add(s2, s7), wordAt(order, 13));
      s3 = i32x4.add(i32x4.add(s3, s4), wordAt(order, 15));
      s15 = rotated8(v128.xor(s15, s0));
      s12 = rotated8(v128.xor(s12, s1));
      s13 = rotated8(v128.xor(s13, s2));
      s14 = rotated8(v128.xor(s14, s3));
      s10 = i32x4.add(s10, s15);
      s11 = i32x4.add(s11, s12);
      s8 = i32x4.add(s8, s13);
      s9 = i32x4.add(s9, s14);
      s5 = rotated7(v128.xor(s5, s10));
      s6 = rotated7(v128.xor(s6, s11));
      s7 = rotated7(v128.xor(s7, s8));
      s4 = rotated7(v128.xor(s4, s9));
    }
    v128.store(laneAt(0), v128.xor(s0, s8));
    v128.store(laneAt(1), v128.xor(s1, s9));
    v128.store(laneAt(2), v128.xor(s2, s10));
    v128.store(laneAt(3), v128.xor(s3, s11));
    v128.store(laneAt(4), v128.xor(s4, s12));
    v128.store(laneAt(5), v128.xor(s5, s13));
    v128.store(laneAt(6), v128.xor(s6, s14));
    v128.store(laneAt(7), v128.xor(s7, s15));
    if (isLast) break;
    left -= BLOCK_BYTES;
    at += BLOCK_BYTES;
    now = flags;
  }
  storeValues(out, outStride);
}

/** Stores the values of the four lanes, `stride` bytes apart. */
function storeValues(out: usize, stride: usize): void {
  for (let i: usize = 0; i < 2; i++)
    storeTransposed(
      out + i * VECTOR_BYTES,
      stride,
      v128.load(laneAt(4 * i)),
      v128.load(laneAt(4 * i + 1)),
      v128.load(laneAt(4 * i + 2)),
      v128.load(laneAt(4 * i + 3)),
    );
}

/** Writes the value of the tree over `count` values to the digest. Overwrites them, and up to three behind them. */
function joinValues(values: usize, count: u32, root: u32): void {
  while (count > 1) {
    const pairs = count >> 1;
    const isOdd = count & 1;
    const left = values + 2 * VALUE_BYTES * usize(pairs);
    // Kept in the digest, since a lane without a pair may write over it.
    if (isOdd) memory.copy(DIGEST, left, VALUE_BYTES);
    for (let pair: u32 = 0; pair < pairs; pair += 4)
      hashFour(
        values + 2 * VALUE_BYTES * usize(pair), 2 * VALUE_BYTES, BLOCK_BYTES, 0, 0,
        PARENT, 0, count == 2 ? root : 0, values + VALUE_BYTES * usize(pair),
      );
    if (isOdd) memory.copy(values + VALUE_BYTES * usize(pairs), DIGEST, VALUE_BYTES);
    count = pairs + isOdd;
  }
  memory.copy(DIGEST, values, VALUE_BYTES);
}

/**
 * Hashes the piece, a subtree whose first chunk has the number `counter`, to the digest. `isWhole`: the piece is a whole message. It
 * then has at least two chunks.
 */
export function hashPiece(pieceBytes: u32, counter: u32, isWhole: bool): void {
  const whole = pieceBytes / CHUNK_BYTES;
  const rest = pieceBytes % CHUNK_BYTES;
  for (let chunk: u32 = 0; chunk < whole; chunk += 4)
    hashFour(
      PIECE + chunk * CHUNK_BYTES, CHUNK_BYTES, CHUNK_BYTES, counter + chunk, 1,
      0, CHUNK_START, CHUNK_END, VALUES + VALUE_BYTES * usize(chunk),
    );
  if (rest > 0) {
    memory.fill(PIECE + pieceBytes, 0, BLOCK_BYTES);
    hashFour(
      PIECE + whole * CHUNK_BYTES, CHUNK_BYTES, rest, counter + whole, 0,
      0, CHUNK_START, CHUNK_END, VALUES + VALUE_BYTES * usize(whole),
    );
  }
  joinValues(VALUES, whole + u32(rest > 0), isWhole ? ROOT : 0);
}

/** Joins the values of all pieces of a message, which are in the list, to the digest. */
export function joinPieces(pieces: u32): void {
  joinValues(LIST, pieces, ROOT);
}

/**
 * Hashes four messages of `sizeBytes`, at most 16 chunks. They are `stride` bytes apart in the piece, each with room for another
 * block. The hashes are in the digest, one after another.
 */
export function hashMessages(sizeBytes: u32, stride: usize): void {
  for (let message: usize = 0; message < 4; message++) memory.fill(PIECE + message * stride + sizeBytes, 0, BLOCK_BYTES);
  const chunks = max<u32>(1, (sizeBytes + CHUNK_BYTES - 1) / CHUNK_BYTES);
  for (let chunk: u32 = 0; chunk < chunks; chunk++)
    hashFour(
      PIECE + chunk * CHUNK_BYTES, stride, min(CHUNK_BYTES, sizeBytes - chunk * CHUNK_BYTES), chunk, 0,
      0, CHUNK_START, CHUNK_END | (chunks == 1 ? ROOT : 0), VALUES + VALUE_BYTES * usize(chunk), VALUES_BYTES,
    );
  for (let count = chunks; count > 1; count = (count >> 1) + (count & 1)) {
    const pairs = count >> 1;
    for (let pair: u32 = 0; pair < pairs; pair++)
      hashFour(
        VALUES + 2 * VALUE_BYTES * usize(pair), VALUES_BYTES, BLOCK_BYTES, 0, 0,
        PARENT, 0, count == 2 ? ROOT : 0, VALUES + VALUE_BYTES * usize(pair), VALUES_BYTES,
      );
    if (count & 1) copyValues(VALUES + VALUE_BYTES * usize(count - 1), VALUES + VALUE_BYTES * usize(pairs), VALUES_BYTES);
  }
  copyValues(VALUES, DIGEST, VALUE_BYTES);
}

/** Copies the value of each of the four messages. */
function copyValues(from: usize, to: usize, toStride: usize): void {
  for (let message: usize = 0; message < 4; message++)
    memory.copy(to + message * toStride, from + message * VALUES_BYTES, VALUE_BYTES);
}

export function digestAt(): usize {
  return DIGEST;
}

export function pieceAt(): usize {
  return PIECE;
}

export function listAt(): usize {
  return LIST;
}
