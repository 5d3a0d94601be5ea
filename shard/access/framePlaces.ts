/** Places of some frames of an access log, so that a page does not read the log from its start. */
import { LOG_START, type Position } from '../../shared/log/eventLog.js';

export interface FramePlace {
  /** Number of its first entry. */
  readonly first: number;
  /** Time of the frame. */
  readonly timeMs: number;
  /** Position of the frame before: reading begins after it. */
  readonly after: Position;
}

const PLACES_MAX = 4_096;

export class FramePlaces {
  /** In the order of the log. */
  #places: FramePlace[] = [];
  /** Least number of entries between two places. It doubles when there are too many. */
  #apart = 1;

  /** Remembers the place, unless it is near to another one. */
  add(place: FramePlace): void {
    const at = this.#countBefore(({ first }) => first <= place.first);
    const [before, behind] = [this.#places[at - 1], this.#places[at]];
    if (before !== undefined && place.first < before.first + this.#apart) return;
    if (behind !== undefined && behind.first < place.first + this.#apart) return;
    this.#places.splice(at, 0, place);
    if (this.#places.length > PLACES_MAX) this.#thin();
  }

  /** Forgets the frames up to the one that begins with the entry. */
  forgetUpTo(first: number): void {
    this.#places.splice(
      0,
      this.#countBefore((place) => place.first <= first),
    );
  }

  #thin(): void {
    while (this.#places.length > PLACES_MAX / 2) {
      this.#apart *= 2;
      let next = 0;
      this.#places = this.#places.filter(({ first }) => {
        if (first < next) return false;
        next = first + this.#apart;
        return true;
      });
    }
  }

  /** The position from which to read: the frame with this entry, and every frame of this time or later, comes after it. */
  before(entry: number, timeMs: number): Position {
    const count = this.#countBefore(({ first, timeMs: itsMs }) => first <= entry || itsMs < timeMs);
    return this.#places[count - 1]?.after ?? LOG_START;
  }

  /** Number of places for which the test holds: the first ones. */
  #countBefore(holds: (place: FramePlace) => boolean): number {
    let [low, high] = [0, this.#places.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (holds(this.#places[middle]!)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
