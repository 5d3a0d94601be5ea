/** A process that makes load, so that what is measured does not wait for what measures. Told what to do by `overload.ts`. */
import { type LoadPlan, type LoadReport, makeLoad } from './load.js';

const tell = (report: LoadReport): Promise<void> => new Promise((resolve) => process.send?.(report, () => resolve()));

process.once('message', async (plan: LoadPlan) => {
  const counts = await makeLoad(plan, () => void tell('counting'));
  await tell(counts);
  process.disconnect();
});
