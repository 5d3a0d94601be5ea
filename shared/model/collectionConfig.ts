import type { Actor } from './actor.js';
import type { TextSettings } from './textLanguage.js';

/** The names and the id of a collection when its log began. */
export interface CollectionOrigin {
  readonly project: string;
  readonly name: string;
  readonly id: number;
}

/** A collection's fixed configuration, which is in its catalog entry and its genesis event. */
export interface CollectionConfig {
  readonly id: number;
  readonly project: string;
  readonly name: string;
  readonly dimension: number;
  readonly metric: 'squared_l2';
  /** Vectors are divided by their length, records and queries alike. */
  readonly normalise?: true;
  /** Texts are found by the stems of their words. */
  readonly text?: TextSettings;
  /** Every record is under a key, so that a shred erases it. Not in the genesis. */
  readonly erasable?: true;
  readonly createdAtMs: number;
  /** The actor of the genesis. Absent in collections of versions whose events name no actor. */
  readonly createdBy?: Actor;
  /** The origin of an imported collection, from its genesis. */
  readonly origin?: CollectionOrigin;
}

export const originOf = ({ origin, project, name, id }: CollectionConfig): CollectionOrigin =>
  origin ?? { project, name, id };
