import { ProductError } from '../../errors/product-error.ts';

/** The functions of the process that the CPI needs. */
export interface ProcessIo {
  /** Reads all of stdin; rejects with INVALID_REQUEST if it has more than `maxInputBytes`. */
  readInput(): Promise<string>;
  readFile(path: string): Promise<string>;
  /**
   * Writes the whole text to stdout, however small the pipe's buffer. A reader that has closed the pipe is
   * not an error.
   */
  writeOutput(text: string): Promise<void>;
}

/** The maximum length of a request in bytes: a create_vm with all certificates of a VM has some 100 KB. */
export const maxInputBytes = 16 * 1024 * 1024;

export function inputTooLargeError(): ProductError {
  return new ProductError(
    'INVALID_REQUEST',
    `stdin holds more than ${maxInputBytes} bytes, and no request does; look at what the caller sends`,
  );
}
