/** The errors of a call to a collection that was deleted after the request had found or created it. */
import { isCollectionNotFound, unavailable, VouchError } from '../../../shared/errors/errors.js';

/** Says that the collection was deleted, and that another one has its name: a repeated request means that one. */
export class CollectionReplaced extends VouchError {
  constructor({ name }: { readonly name: string }) {
    super('unavailable', `collection ${JSON.stringify(name)} was replaced; retry`);
    this.name = 'CollectionReplaced';
  }
}

/** Whether the called collection was deleted, also if another one has its name now. */
export const isDeletion = (error: unknown): error is VouchError =>
  isCollectionNotFound(error) || error instanceof CollectionReplaced;

/** The error of a step that follows a creation: if the collection was deleted before it, a repeated request creates another one. */
export const afterCreation = (error: unknown, { name }: { readonly name: string }): unknown =>
  isDeletion(error)
    ? unavailable(`collection ${JSON.stringify(name)} was deleted before this request had set it up; retry`)
    : error;
