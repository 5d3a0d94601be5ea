/** Skips the test that runs, or the suite whose hook runs, and says why in the output. */
export function skip(context: Mocha.Context, reason: string): never {
  console.log(`      skipped: ${reason}`);
  return context.skip();
}
