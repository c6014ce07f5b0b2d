import { appendFile } from 'node:fs/promises';

/**
 * Appends test files to those that CI runs again, one per line, in the file of the variable
 * FAILED_TEST_FILES, if it is set.
 */
export async function addFailedFiles(files: readonly string[]): Promise<void> {
  const { FAILED_TEST_FILES: wanted = '' } = process.env;
  if (wanted !== '') await appendFile(wanted, files.map((file) => `${file}\n`).join(''));
}
