/** Stored bytes that do not verify, found while a collection was read. Quarantines that collection and no other. */
export class Damaged extends Error {
  constructor(reason: string, options?: ErrorOptions) {
    super(reason, options);
    this.name = 'Damaged';
  }
}
