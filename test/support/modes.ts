/** The same tests over a cluster and over a standalone node: what a user sees must not differ. */
import { type Mode, Service, type Settings } from './service.js';

const shared = new Map<Mode, Promise<Service>>();

/** Started by the first test that needs it, used by all, stopped after the last. */
function sharedService(mode: Mode): Promise<Service> {
  let service = shared.get(mode);
  if (service === undefined) {
    service = Service.start(mode);
    shared.set(mode, service);
  }
  return service;
}

/** A service of the test's own, with other settings; stopped after the suite. */
export type StartService = (settings: Settings) => Promise<Service>;

/**
 * Registers `tests` once for each mode. `service` may be used inside the tests and hooks, not while they are registered,
 * but for its `mode`.
 */
export function inBothModes(title: string, tests: (service: Service, startService: StartService) => void): void {
  for (const mode of ['cluster', 'standalone'] as const)
    describe(`${title} (${mode})`, function () {
      this.timeout(60_000);
      const own: Service[] = [];
      let service: Service | undefined;
      const handle = new Proxy({ mode } as Service, {
        get: (target, property) => {
          if (property === 'mode') return mode;
          const real = service ?? target;
          const value: unknown = Reflect.get(real, property, real);
          return typeof value === 'function' ? value.bind(real) : value;
        },
      });
      before(async () => {
        service = await sharedService(mode);
      });
      after(() => Promise.all(own.map((one) => one.stop())));
      tests(handle, async (settings) => {
        const one = await Service.start(mode, settings);
        own.push(one);
        return one;
      });
    });
}

after(async () => {
  await Promise.all([...shared.values()].map(async (service) => (await service).stop()));
});
