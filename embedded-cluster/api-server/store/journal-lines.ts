import { crc32 } from 'node:zlib';
import { ProductError } from '../../../src/errors/product-error.ts';

/** Encodes one record as a line: eight hex digits of CRC-32, a blank, JSON. */
export function encodeLine(record: unknown): Buffer {
  const json = Buffer.from(JSON.stringify(record));
  return Buffer.concat([Buffer.from(`${checksum(json)} `), json, newline]);
}

/**
 * Returns the records of a journal file and the length of its valid part. Anything after the last valid line
 * is a write that a crash interrupted. Throws ProductError CLUSTER_JOURNAL_CORRUPT if a valid line follows a
 * damaged one: that is not a torn write, and continuing would lose objects silently.
 */
export function readLines(content: Buffer, file: string): { records: unknown[]; length: number } {
  const records: unknown[] = [];
  let position = 0;
  while (position < content.length) {
    const end = content.indexOf(newline, position);
    const record = end === -1 ? undefined : decodeLine(content.subarray(position, end));
    if (record === undefined) break;
    records.push(record.value);
    position = end + 1;
  }
  if (position < content.length) assertTornTail(content, position, records.length, file);
  return { records, length: position };
}

const newline = Buffer.from('\n');
const checksum = (json: Uint8Array): string => crc32(json).toString(16).padStart(8, '0');

function decodeLine(line: Buffer): { value: unknown } | undefined {
  const json = line.subarray(9);
  if (line.subarray(0, 9).toString('latin1') !== `${checksum(json)} `) return undefined;
  return { value: JSON.parse(json.toString()) };
}

function assertTornTail(content: Buffer, position: number, good: number, file: string): void {
  let end = content.indexOf(newline, position);
  while (end !== -1) {
    const next = content.indexOf(newline, end + 1);
    if (next !== -1 && decodeLine(content.subarray(end + 1, next)) !== undefined) {
      throw new ProductError(
        'CLUSTER_JOURNAL_CORRUPT',
        `the cluster's journal ${file} is damaged in line ${good + 1} (its checksum does not match), with good lines after it; restore the file from a backup, or move it away to start with an empty cluster`,
      );
    }
    end = next;
  }
}
