/** What a process has answered, counted by what was asked, as `nats micro stats` shows it. */
import { type Endpoint, endpointOf } from '../subjects.js';

export interface Served {
  /** Messages that came; each carries one or more calls. */
  requests: number;
  failed: number;
  lastFailure: string;
  /** Past their deadline when they came, and dropped. */
  late: number;
  underWay: number;
  /** From arrival to answer, of all together. */
  tookMs: number;
}

export class ServedCounts {
  private readonly byEndpoint = new Map<Endpoint, Served>();

  of(endpoint: Endpoint): Served {
    let served = this.byEndpoint.get(endpoint);
    if (served === undefined) {
      served = { requests: 0, failed: 0, lastFailure: '', late: 0, underWay: 0, tookMs: 0 };
      this.byEndpoint.set(endpoint, served);
    }
    return served;
  }

  ofSubject(subject: string): Served {
    return this.of(endpointOf(subject));
  }
}
