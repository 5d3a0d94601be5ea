/** Fails the test during which a rejection has no handler. Mocha ignores it; a process of the product would end. */
process.on('unhandledRejection', (reason) => {
  throw reason;
});
