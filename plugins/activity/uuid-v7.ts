import { randomBytes } from 'node:crypto';

/** The number of distinct counter values per millisecond. */
const maxAtOnce = 0x1000;

/**
 * Creates UUIDs of version 7, with a counter after the milliseconds (RFC 9562, 5.7 and 6.2, method 1). Within a process, they sort
 * in the order of creation.
 */
export function createIds(): (now: Date) => string {
  let last = 0;
  let counter = 0;

  return (now) => {
    const present = now.getTime();
    if (present > last) {
      last = present;
      counter = 0;
    } else if (++counter === maxAtOnce) {
      last++;
      counter = 0;
    }
    const bytes = randomBytes(16);
    bytes.writeUIntBE(last, 0, 6);
    bytes.writeUInt16BE(0x7000 | counter, 6);
    bytes.writeUInt8(0x80 | (bytes.readUInt8(8) & 0x3f), 8);
    return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  };
}
