/** A snapshot that does not verify. It is set aside: an older one or the log has all that it was made of. */
export class DamagedSnapshot extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'DamagedSnapshot';
  }
}

/** A snapshot that is whole and cannot be begun from: another version wrote it, or under other settings. It is left alone. */
export class UnusableSnapshot extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'UnusableSnapshot';
  }
}
