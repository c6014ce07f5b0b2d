import { readFile } from 'node:fs/promises';
import type { ProcessIo } from './cpi-process.ts';
import { inputTooLargeError, maxInputBytes } from './cpi-process.ts';
import { readDescriptor, writeDescriptor } from './descriptor.ts';

export const nodeProcess: ProcessIo = {
  readInput: async () => readDescriptor(0, maxInputBytes, inputTooLargeError),
  readFile: async (path) => readFile(path, 'utf8'),
  writeOutput: async (text) => writeDescriptor(1, text),
};
