import { readFile } from 'node:fs/promises';
import type { CpiProcess } from './cpi-process.ts';
import { inputTooLong, longestInput } from './cpi-process.ts';
import { readAll, writeAll } from './descriptor.ts';

export const nodeProcess: CpiProcess = {
  readInput: async () => readAll(0, longestInput, inputTooLong),
  readFile: async (path) => readFile(path, 'utf8'),
  writeOutput: async (text) => writeAll(1, text),
};
