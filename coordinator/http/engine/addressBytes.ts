/** The bytes of an IP address. */

const V6_GROUPS = 8;

/** 4 bytes for an IPv4 address, also for one mapped into IPv6; 16 for IPv6; 0 for anything else. */
export function addressBytes(address: string): ArrayBuffer {
  const mapped = /^(?:::ffff:)?(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return Uint8Array.from(mapped.split('.'), Number).buffer;
  const [head = '', tail] = address.replace(/%.*$/, '').split('::');
  const groupsIn = (text: string): string[] => (text === '' ? [] : text.split(':'));
  const [before, after] = [groupsIn(head), groupsIn(tail ?? '')];
  const zeros = tail === undefined ? 0 : V6_GROUPS - before.length - after.length;
  const groups = [...before, ...Array<string>(Math.max(zeros, 0)).fill('0'), ...after];
  if (groups.length !== V6_GROUPS) return new ArrayBuffer(0);
  return Uint8Array.from(groups.flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255]))
    .buffer;
}
