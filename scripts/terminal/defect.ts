/** What no configuration or machine can cause: then the stack matters more than the one line. */
export const isDefect = (error: unknown): error is Error =>
  error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError;
