/** Fails the test in which a rejection has no handler: mocha says nothing of it, and a process of the product ends by it. */
process.on('unhandledRejection', (reason) => {
  throw reason;
});
