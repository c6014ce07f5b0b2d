import { ProductError } from '../../errors/product-error.ts';

/** What the CPI needs of the process that it runs in. */
export interface ProcessIo {
  /** All of stdin; rejects with INVALID_REQUEST where it has more than `maxInputBytes`. */
  readInput(): Promise<string>;
  readFile(path: string): Promise<string>;
  /** Writes all of it to stdout, however small the pipe; a reader that has gone away is nobody's error. */
  writeOutput(text: string): Promise<void>;
}

/** Bytes of a request: a create_vm with all certificates of a VM has some 100 KB. */
export const maxInputBytes = 16 * 1024 * 1024;

export function inputTooLargeError(): ProductError {
  return new ProductError(
    'INVALID_REQUEST',
    `stdin holds more than ${maxInputBytes} bytes, and no request does; look at what the caller sends`,
  );
}
