/** Guesses the number of rows from the part of the bytes that is read. */
export class Guess {
  readBytes = 0;

  constructor(private readonly sizeBytes: number | undefined) {}

  rows(read: number): number | undefined {
    if (this.sizeBytes === undefined || this.readBytes === 0) return undefined;
    return Math.max(read, Math.round((read * this.sizeBytes) / this.readBytes));
  }
}
