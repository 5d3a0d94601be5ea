/** Skips the running test, or the suite of the running hook, and prints the reason. */
export function skip(context: Mocha.Context, reason: string): never {
  console.log(`      skipped: ${reason}`);
  return context.skip();
}
