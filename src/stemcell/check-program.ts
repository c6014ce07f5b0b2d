import { resolve } from 'node:path';
import { openForReading } from '../bosh/archive/open-for-reading.ts';
import { ProductError } from '../errors/product-error.ts';
import type { Architecture } from './build-settings.ts';

/** Architectures by the number of the processor in an ELF header (e_machine). */
const processors: Readonly<Record<number, string>> = { 0x03: 'i386', 0x3e: 'amd64', 0xb7: 'arm64' };
const executableTypes: readonly number[] = [2, 3];

/**
 * Checks that a file is a program that a stemcell of this architecture can run: a script, or an executable
 * for Linux. Rejects with INVALID_ARGUMENT, which names the file and its type, or with FILE_NOT_FOUND.
 */
export async function checkProgram(path: string, architecture: Architecture): Promise<void> {
  await using file = await openForReading(path);
  const header = Buffer.alloc(20);
  await file.read(header, 0, header.length, 0);
  if (header.toString('latin1', 0, 2) === '#!') return;
  const isLittleEndian = header[5] === 1;
  if (
    header.toString('latin1', 0, 4) !== '\x7fELF' ||
    !executableTypes.includes(isLittleEndian ? header.readUInt16LE(16) : header.readUInt16BE(16))
  )
    throw wrong(`'${resolve(path)}' is neither an executable for Linux nor a script`);
  const machine = isLittleEndian ? header.readUInt16LE(18) : header.readUInt16BE(18);
  const found = processors[machine] ?? `processor ${machine} of ELF`;
  if (found === architecture && isLittleEndian) return;
  throw wrong(
    `'${resolve(path)}' is an executable for ${found}, and the stemcell is for ${architecture}: ` +
      `use one that is built for ${architecture}`,
  );
}

const wrong = (problem: string): ProductError => new ProductError('INVALID_ARGUMENT', problem);
