/** A saved generation that does not verify. It can be built anew; what it was found to be is not to be opened. */
export class DamagedGeneration extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'DamagedGeneration';
  }
}

/** A saved generation that another version of this program wrote, and that this one cannot read. */
export class UnknownGeneration extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'UnknownGeneration';
  }
}
