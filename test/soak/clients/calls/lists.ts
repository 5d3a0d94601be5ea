/** HTTP requests and answers of ordered lists. */
import type { ListCall } from '../../history/lists.js';
import type { Metadata } from '../../history/records.js';
import { get, type Way } from './call.js';

interface ListBody {
  readonly records: readonly { readonly id: number; readonly metadata: Metadata | null }[];
  readonly next: string | null;
}

export const list: Way<ListCall, ListBody> = {
  request: ({ collection, orderBy, isDescending, limit, color, after }) => {
    const wanted = new URLSearchParams({ collection, order_by: orderBy, limit: String(limit) });
    if (isDescending) wanted.set('order', 'desc');
    if (color !== null) wanted.set('metadata_filter', JSON.stringify({ color }));
    if (after !== null) wanted.set('after', after.next);
    return get(`/v1/records?${wanted}`);
  },
  answer: ({ records, next }, { orderBy }) => ({
    records: records.map(({ id, metadata }) => ({ id, value: metadata?.[orderBy] ?? null })),
    next,
  }),
};
