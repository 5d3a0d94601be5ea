/** Bytes that are not what their format says they are. `offset`: where, counted from the first byte given. */
export class Malformed extends Error {
  readonly offset: number;

  constructor(reason: string, offset: number) {
    super(`${reason} (at byte ${offset})`);
    this.name = 'Malformed';
    this.offset = offset;
  }
}
