/** The collections of a service by name or alias. */
import type { ListedCollection } from '../../coordinator/contract/collections.js';
import { Refused, type ServiceClient } from './serviceClient.js';

const NOT_FOUND = 404;

/** The collection of this name or alias; undefined if nothing has the name. */
export async function findNamed(client: ServiceClient, name: string): Promise<ListedCollection | undefined> {
  try {
    return await client.ask('GET', `/v1/namespaces/${encodeURIComponent(name)}`);
  } catch (error) {
    if (error instanceof Refused && error.status === NOT_FOUND) return undefined;
    throw error;
  }
}
