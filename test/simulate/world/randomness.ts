/** Random bytes, ids and keys, derived from the seed of the world. */
import { currentWorld, type World } from './world.js';

type Any = (...args: never[]) => unknown;

export interface WebcryptoImpl {
  getRandomValues: Any;
  randomUUID: Any;
}

interface RealCrypto {
  readonly randomBytes: Any;
  readonly randomUUID: Any;
  readonly randomFillSync: Any;
  readonly generateKeyPairSync: Any;
  readonly createPrivateKey: (key: object) => object;
  readonly createPublicKey: (key: object) => object;
}

/** PKCS#8 of an Ed25519 key, without its 32 bytes (RFC 8410, section 7). */
const ED25519 = Buffer.from('302e020100300506032b657004220420', 'hex');

function fill(world: World, bytes: Uint8Array): void {
  const random = world.random('entropy');
  for (let i = 0; i < bytes.length; i++) bytes[i] = random.int(256);
}

function bytesOf(world: World, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  fill(world, bytes);
  return bytes;
}

function uuidOf(world: World): string {
  const hex = bytesOf(world, 16).toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
}

const filled = (world: World, view: ArrayBufferView): ArrayBufferView => {
  fill(world, new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
  return view;
};

/** Replacements for `node:crypto` and for the global `crypto`. Other kinds of keys come from Node. */
export function simulatedRandomness(real: RealCrypto) {
  const { randomBytes, randomUUID, randomFillSync, generateKeyPairSync, createPrivateKey, createPublicKey } = real;
  const otherwise =
    (original: Any, replacement: (world: World, ...args: never[]) => unknown): Any =>
    (...args) => {
      const world = currentWorld();
      return world === undefined ? original(...args) : replacement(world, ...args);
    };
  const keyPair = (world: World, kind: string, ...rest: never[]): unknown => {
    if (kind !== 'ed25519') return generateKeyPairSync(...([kind, ...rest] as never[]));
    const key = Buffer.concat([ED25519, bytesOf(world, 32)]);
    const privateKey = createPrivateKey({ key, format: 'der', type: 'pkcs8' });
    return { privateKey, publicKey: createPublicKey(privateKey) };
  };
  return {
    crypto: {
      randomBytes: otherwise(randomBytes, bytesOf as never),
      randomUUID: otherwise(randomUUID, uuidOf),
      randomFillSync: otherwise(randomFillSync, filled as never),
      generateKeyPairSync: otherwise(generateKeyPairSync, keyPair as never),
    },
    web: (web: WebcryptoImpl) => ({
      getRandomValues: otherwise(web.getRandomValues.bind(web) as Any, filled as never),
      randomUUID: otherwise(web.randomUUID.bind(web) as Any, uuidOf),
    }),
  };
}
