import { Gauge, type Registry } from 'prom-client';

/** Makes gauges in the registry whose values are read when it is. `now`: what they are read from. */
export const gaugesOf =
  <Now>(registry: Registry, now: () => Now) =>
  (name: string, help: string, read: (now: Now) => number): void => {
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read(now()));
      },
    });
  };
