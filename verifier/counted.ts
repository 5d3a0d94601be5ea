/** Numbers of things in messages. */

/** `1 event`, `2 events` */
export const counted = (count: bigint | number, one: string, many = `${one}s`): string =>
  `${count} ${Number(count) === 1 ? one : many}`;
