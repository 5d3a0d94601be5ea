/** `npm run witness`: cosigns checkpoints of transparency logs that continue the checkpoints it has seen. */
import { systemClock } from '../shared/clock.js';
import { runCommand } from './terminal/commandLine.js';
import { say } from './terminal/line.js';
import { onSignals } from './terminal/signals.js';
import { callersPath } from './verify/files.js';
import { openWitness } from './witness/open.js';
import { parseWitnessRequest, WITNESS_USAGE } from './witness/request.js';
import { serveWitness } from './witness/server.js';

await runCommand({ name: 'witness', usage: WITNESS_USAGE }, async (args) => {
  const { folder, name, logs, host, port } = parseWitnessRequest(args);
  const onRefused = (reason: string, note: string): void => {
    say('failed', 'REFUSED', reason);
    process.stderr.write(`${note}\n`);
  };
  const { witness, verifierKey, close } = await openWitness(callersPath(folder), name, {
    logs,
    clock: systemClock,
    onRefused,
  });
  const server = await serveWitness(witness, host, port);
  say('done', 'witness', `${server.url} for ${logs.map((log) => log.name).join(', ')}`);
  process.stdout.write(`witness ${name} ${verifierKey} ${server.url}\n`);
  await new Promise<void>((resolve) => onSignals(resolve, () => process.exit(1)));
  await server.stop();
  await close();
});
