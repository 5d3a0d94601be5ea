/** Cuts one process off from single servers that store seals. */
import { ErrorCode, NatsError } from 'nats';
import type { ClusterConnection } from '../../../shared/nats/natsConnection.js';
import { sealStream } from '../../../shared/transport/subjects.js';

/** One process's connection to the servers that store seals. */
export class SealReach {
  readonly #cut = new Set<number>();

  constructor({ js, jsm, nc }: ClusterConnection) {
    const publish = js.publish.bind(js);
    js.publish = async (subject, ...given) => publish(this.#reached(subject), ...given);
    const request = nc.request.bind(nc);
    nc.request = async (subject, ...given) => request(this.#reached(subject), ...given);
    const deleteMessage = jsm.streams.deleteMessage.bind(jsm.streams);
    jsm.streams.deleteMessage = async (stream, ...given) => deleteMessage(this.#reached(stream), ...given);
  }

  cut(place: number): void {
    this.#cut.add(place);
  }

  mend(): void {
    this.#cut.clear();
  }

  #reached(name: string): string {
    for (const place of this.#cut)
      if (name.includes(sealStream(place)) || name.startsWith(`vouch.seals.${place}.`))
        throw new NatsError('cut off', ErrorCode.NoResponders);
    return name;
  }
}
