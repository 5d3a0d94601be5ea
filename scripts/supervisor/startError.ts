/** Why the service cannot start, in one line that says what to do; shown without a stack. */
export class StartError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'StartError';
  }
}
