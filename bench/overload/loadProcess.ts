/** A process that makes load, so that the service does not wait for the load. Gets its plan from `forkedLoad.ts`. */
import { type LoadPlan, type LoadReport, makeLoad } from './load.js';

const send = (report: LoadReport): Promise<void> => new Promise((resolve) => process.send?.(report, () => resolve()));

process.once('message', async (plan: LoadPlan) => {
  const counts = await makeLoad(plan, () => void send('counting'));
  await send(counts);
  process.disconnect();
});
