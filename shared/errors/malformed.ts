/** Bytes that do not have their format. `offset`: the wrong byte, counted from the first one given. */
export class Malformed extends Error {
  override name = 'Malformed';

  constructor(
    reason: string,
    readonly offset: number,
  ) {
    super(`${reason} (at byte ${offset})`);
  }
}
