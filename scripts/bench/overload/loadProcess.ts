/** A process that makes load, so that what is measured does not wait for what measures. Told what to do by `overload.ts`. */
import { type LoadPlan, makeLoad } from './load.js';

process.once('message', async (plan: LoadPlan) => {
  const counts = await makeLoad(plan);
  process.send?.(counts, () => process.disconnect());
});
