/**
 * The actors beside the events of a frame. After an event of version 2: u16 length of its actor, actor. Length 0: the actor of the
 * event before, which a frame never repeats.
 */
import { Malformed } from '../errors/malformed.js';
import { type Actor, isSameActor } from '../model/actor.js';
import { actorSizeBytes, decodeActor, encodeActor } from './actorCodec.js';
import type { ChainWalk } from './chain.js';
import type { ByteView } from './eventBytes.js';
import { hasActor } from './eventCodec.js';

const LENGTH_BYTES = 2;

/** The bytes of the actor beside an event, after an event of actor `before`. */
export function actorBesideBytes(actor: Actor | null, before: Actor | null): number {
  if (actor === null) return 0;
  return isSameActor(actor, before) ? LENGTH_BYTES : LENGTH_BYTES + actorSizeBytes(actor);
}

/** Writes or reads the actors of one frame in order, and passes them to the chain. */
export class FrameActors {
  /** The actor of the last event; null without one. */
  actor: Actor | null = null;

  constructor(
    private readonly frame: ByteView,
    private readonly walk: ChainWalk,
  ) {}

  /** Writes the actor of an event that ends at `at`, and returns its end. Throws RangeError for an impossible actor. */
  write(actor: Actor | null, at: number): number {
    if (isSameActor(actor, this.actor)) return actor === null ? at : at + LENGTH_BYTES;
    const bytes = actor === null ? null : encodeActor(actor);
    this.#set(actor, bytes);
    if (bytes === null) return at;
    this.frame.view.setUint16(at, bytes.length, true);
    this.frame.bytes.set(bytes, at + LENGTH_BYTES);
    return at + LENGTH_BYTES + bytes.length;
  }

  /** Reads the actor of the event at `from` to `at`, and returns its end, at most `eventsEnd`. Throws Malformed. */
  read(from: number, at: number, eventsEnd: number): number {
    if (from === at || !hasActor(this.frame, from)) {
      if (this.actor !== null) this.#set(null, null);
      return at;
    }
    const bytes = this.#stated(at, eventsEnd);
    if (bytes.length > 0) {
      const actor = decodeActor(bytes, at + LENGTH_BYTES);
      if (isSameActor(actor, this.actor)) throw new Malformed('an actor that repeats the one before it', at);
      this.#set(actor, bytes);
    } else if (this.actor === null) throw new Malformed('no event before it states its actor', at);
    return at + LENGTH_BYTES + bytes.length;
  }

  #stated(at: number, eventsEnd: number): Uint8Array {
    if (eventsEnd - at < LENGTH_BYTES) throw new Malformed('an event without its actor', at);
    const sizeBytes = this.frame.view.getUint16(at, true);
    const from = at + LENGTH_BYTES;
    if (sizeBytes > eventsEnd - from)
      throw new Malformed(`an actor of ${sizeBytes} bytes reaches beyond the frame`, at);
    return this.frame.bytes.subarray(from, from + sizeBytes);
  }

  #set(actor: Actor | null, bytes: Uint8Array | null): void {
    this.actor = actor;
    this.walk.setActor(bytes);
  }
}
