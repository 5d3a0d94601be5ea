/** Runs the same tests over a cluster and a standalone node: users must see no difference. */
import { expect } from 'chai';
import { titleIn } from '../atLength.js';
import { skip } from '../skip.js';
import { OTHER_ENGINE, whyNoUws } from './engines.js';
import { PackageClient, type PackageRoute, type Passed } from './packageClient.js';
import { type Mode, type Project, Service, type Settings } from './service.js';

/**
 * Services shared by suites with equal settings. The first test that needs one starts it; it stops after the last
 * suite.
 */
class SharedServices {
  readonly #services = new Map<Mode, Promise<Service>>();
  /** Unfinished suites per mode. */
  readonly #suites = new Map<Mode, number>();

  constructor(readonly settings: Settings = {}) {}

  /** Called once per suite while tests are registered. */
  register(mode: Mode): void {
    this.#suites.set(mode, (this.#suites.get(mode) ?? 0) + 1);
  }

  get(mode: Mode): Promise<Service> {
    const service = this.#services.get(mode) ?? Service.start(mode, this.settings);
    this.#services.set(mode, service);
    return service;
  }

  /** Called after each suite. An idle cluster takes a fifteenth of a core. */
  async leave(mode: Mode): Promise<void> {
    const left = this.#suites.get(mode)! - 1;
    this.#suites.set(mode, left);
    if (left === 0) await this.#stop(mode);
  }

  /** Stops the rest, if suites were left out, as with `--grep`. */
  async stop(): Promise<void> {
    await Promise.all([...this.#services.keys()].map((mode) => this.#stop(mode)));
  }

  async #stop(mode: Mode): Promise<void> {
    const service = this.#services.get(mode);
    this.#services.delete(mode);
    await (await service)?.stop();
  }
}

const usual = new SharedServices();
const onOtherEngine: Readonly<Record<Mode, SharedServices>> = {
  cluster: new SharedServices({ VOUCH_HTTP_ENGINE: OTHER_ENGINE.cluster }),
  standalone: new SharedServices({ VOUCH_HTTP_ENGINE: OTHER_ENGINE.standalone }),
};

export interface OtherServices {
  /** Starts a service for one test, with one shard; it is stopped after the suite. */
  readonly start: (settings: Settings) => Promise<Service>;
  /**
   * The suite's own service, whose processes a test may end and restart: with few collections they are soon back. Other
   * tests of the suite must find it running and whole.
   */
  readonly restartable: () => Promise<Service>;
}

type Tests = (service: Service, others: OtherServices) => void;

/** Registers `tests` once for each mode. Only tests and hooks may use `service`; its `mode` is known earlier. */
export function inBothModes(title: string, tests: Tests): void {
  for (const mode of ['cluster', 'standalone'] as const) inMode(`${title} (${mode})`, mode, tests);
}

/** Like `inBothModes`, with the tests of one mode at length: for faults, whose rows of the API other tests prove in both. */
export function inBothModesAtLengthIn(long: Mode, title: string, tests: Tests): void {
  for (const mode of ['cluster', 'standalone'] as const) inMode(titleIn(mode, title, long), mode, tests);
}

/** Like `inBothModes`, and again in each mode over the HTTP engine that its other tests do not use. */
export function inBothModesAndEngines(title: string, tests: Tests): void {
  inBothModes(title, tests);
  for (const mode of ['cluster', 'standalone'] as const)
    inMode(`${title}, HTTP by ${OTHER_ENGINE[mode]} (${mode})`, mode, tests, onOtherEngine[mode]);
}

/**
 * Like `inBothModes`, and again through the package `@vouch/client`, as far as it can make the requests. A last test
 * asserts that these routes were used through the package, and that most requests went through it.
 */
export function inBothModesAndThroughClient(title: string, routes: readonly PackageRoute[], tests: Tests): void {
  inBothModes(title, tests);
  inMode(`${title} (through the client)`, 'standalone', (service, others) => {
    const passed: Passed = new Map();
    const newProject = async (): Promise<Project> => {
      const { name, ...clients } = await service.newProject();
      const wrapped = Object.entries(clients).map(([scope, client]) => [scope, PackageClient.of(client, passed)]);
      return { name, ...Object.fromEntries(wrapped) } as Project;
    };
    const handle = new Proxy(service, {
      get: (target, property) => (property === 'newProject' ? newProject : Reflect.get(target, property)),
    });
    tests(handle, others);
    it('sends most requests through the package', () => {
      for (const route of routes) expect(passed.get(route)?.through ?? 0, route).to.be.above(0);
      const counts = [...passed.values()];
      const sumOf = (way: 'through' | 'around'): number => counts.reduce((sum, count) => sum + count[way], 0);
      expect(sumOf('through'), JSON.stringify([...passed])).to.be.above(sumOf('around'));
    });
  });
}

function inMode(title: string, mode: Mode, tests: Tests, shared = usual): void {
  describe(title, () => {
    const own: Service[] = [];
    let restarted: Promise<Service> | undefined;
    const service = handleOf(mode, shared);
    after(() => Promise.all(own.map((one) => one.stop())));
    const start = async (settings: Settings): Promise<Service> => {
      const one = await Service.start(mode, { ...shared.settings, ...settings }, { shards: 1 });
      own.push(one);
      return one;
    };
    const restartable = (): Promise<Service> => {
      restarted ??= start({});
      return restarted;
    };
    tests(service, { start, restartable });
  });
}

/**
 * The service that suites with the usual settings share: registers its hooks in the current suite. Only tests and hooks
 * may use it; its `mode` is known earlier. Other suites must find it running and whole.
 */
export const sharedService = (mode: Mode): Service => handleOf(mode, usual);

function handleOf(mode: Mode, shared: SharedServices): Service {
  let service: Service | undefined;
  shared.register(mode);
  before(async function () {
    const reason = shared === usual ? undefined : await whyNoUws();
    if (reason !== undefined) skip(this, reason);
    service = await shared.get(mode);
  });
  after(() => shared.leave(mode));
  return new Proxy({ mode } as Service, {
    get: (target, property) => {
      if (property === 'mode') return mode;
      const real = service ?? target;
      const value: unknown = Reflect.get(real, property, real);
      return typeof value === 'function' ? value.bind(real) : value;
    },
  });
}

after(() => Promise.all([usual, ...Object.values(onOtherEngine)].map((shared) => shared.stop())));
