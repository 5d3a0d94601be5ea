/**
 * Replaces Node's time, randomness, files, threads and sockets by simulated ones for every module of the process. It
 * overwrites functions of the built-in modules; `syncBuiltinESMExports` updates modules that have imported them. The
 * product runs unchanged. Outside of a running world every function is Node's own.
 * Import it before the product: a package may keep a function that it finds when it loads.
 */
import { createRequire, syncBuiltinESMExports } from 'node:module';
import { simulatedPromises, simulatedSyncs } from '../disk/simulatedFiles.js';
import { simulatedFetch } from '../http/fetch.js';
import { simulatedConnect } from '../network/sockets.js';
import type { WebcryptoImpl } from './randomness.js';
import { simulatedRandomness } from './randomness.js';
import { realDateNow } from './realTimers.js';
import { currentData, currentPort, SimulatedMessageChannel, SimulatedWorker } from './threads.js';
import { simulatedTimers, simulatedWaits } from './timers.js';
import { currentWorld } from './world.js';

const require = createRequire(import.meta.url);

/** Memory size of every process, whatever its real size. */
const MEMORY_BYTES = 64 * 2 ** 20;
const MACHINE_BYTES = 8 * 2 ** 30;

type Functions = Record<string, unknown>;

const builtin = (name: string): Functions => require(name) as Functions;

/** Replaces properties, even read-only ones. */
function put(into: object, functions: Functions): void {
  for (const [name, value] of Object.entries(functions))
    Object.defineProperty(into, name, { value, configurable: true, writable: true, enumerable: true });
}

/** Calls the replacement while a world runs, otherwise the original. */
const unless = (original: unknown, replacement: (...args: never[]) => unknown, self?: unknown) =>
  function (this: unknown, ...args: never[]): unknown {
    return currentWorld() === undefined
      ? (original as (...args: never[]) => unknown).apply(self ?? this, args)
      : replacement(...args);
  };

/** Constructs the replacement while a world runs, otherwise the original. */
const unlessClass = (original: unknown, replacement: unknown): unknown =>
  new Proxy(original as new () => object, {
    construct: (target, args: unknown[]) =>
      Reflect.construct((currentWorld() === undefined ? target : replacement) as new () => object, args) as object,
  });

function installTime(): void {
  put(globalThis, simulatedTimers);
  put(builtin('timers'), simulatedTimers);
  const waits = builtin('timers/promises');
  put(waits, simulatedWaits({ ...waits } as never));
  Date.now = () => currentWorld()?.wallMs() ?? realDateNow();
  const { performance } = globalThis;
  const realNow = performance.now.bind(performance);
  put(performance, { now: () => currentWorld()?.monotonicMs() ?? realNow() });
  const hooks = builtin('perf_hooks');
  put(hooks, { monitorEventLoopDelay: unless(hooks.monitorEventLoopDelay, () => QUIET_LOOP) });
}

/** Event loop delay of a simulated process: always zero. */
const QUIET_LOOP = {
  enable: () => true,
  disable: () => true,
  reset: () => undefined,
  percentile: () => 0,
  ...{ min: 0, max: 0, mean: 0, stddev: 0, exceeds: 0 },
};

function installRandomness(): void {
  const crypto = builtin('crypto');
  const replaced = simulatedRandomness(crypto as never);
  put(crypto, replaced.crypto);
  const web = globalThis.crypto as unknown as WebcryptoImpl;
  put(web, replaced.web(web));
  const realRandom = Math.random;
  Math.random = () => currentWorld()?.random('Math.random').next() ?? realRandom();
}

function installProcess(): void {
  const { pid, kill } = process;
  Object.defineProperty(process, 'pid', { get: () => currentWorld()?.party.pid ?? pid, configurable: true });
  const simulatedKill = (wanted: number): true => {
    if (currentWorld()!.parties.some((party) => party.pid === wanted && party.alive)) return true;
    throw Object.assign(new Error('kill ESRCH'), { code: 'ESRCH', syscall: 'kill' });
  };
  put(process, {
    kill: unless(kill, simulatedKill as never, process),
    cpuUsage: unless(process.cpuUsage, () => ({ user: 0, system: 0 }), process),
    constrainedMemory: unless(process.constrainedMemory ?? (() => 0), () => 0, process),
  });
  put(process.memoryUsage, { rss: unless(process.memoryUsage.rss, () => MEMORY_BYTES) });
  const os = builtin('os');
  put(os, {
    hostname: unless(os.hostname, () => currentWorld()!.party.machine),
    availableParallelism: unless(os.availableParallelism, () => 1),
    totalmem: unless(os.totalmem, () => MACHINE_BYTES),
    setPriority: unless(os.setPriority, () => undefined),
  });
  const v8 = builtin('v8');
  const heap = { used_heap_size: MEMORY_BYTES, heap_size_limit: MACHINE_BYTES, total_heap_size: MEMORY_BYTES };
  put(v8, { getHeapStatistics: unless(v8.getHeapStatistics, () => heap) });
}

function installThreads(): void {
  const threads = builtin('worker_threads');
  put(threads, {
    Worker: unlessClass(threads.Worker, SimulatedWorker),
    MessageChannel: unlessClass(threads.MessageChannel, SimulatedMessageChannel),
    parentPort: currentPort,
    workerData: currentData,
  });
}

function installFiles(): void {
  const fs = builtin('fs');
  const promises = builtin('fs/promises');
  put(promises, simulatedPromises({ ...promises } as never));
  put(fs, simulatedSyncs(fs as never));
}

function installSockets(): void {
  const net = builtin('net');
  put(net, {
    createConnection: unless(net.createConnection, simulatedConnect as never),
    connect: unless(net.connect, simulatedConnect as never),
  });
  put(globalThis, { fetch: unless(globalThis.fetch, simulatedFetch as never) });
}

installTime();
installRandomness();
installProcess();
installThreads();
installFiles();
installSockets();
syncBuiltinESMExports();
