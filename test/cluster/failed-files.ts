import { appendFile } from 'node:fs/promises';

/** Adds test files to those that CI runs again, a line each, in the file that the variable FAILED_TEST_FILES names, if any. */
export async function addFailedFiles(files: readonly string[]): Promise<void> {
  const { FAILED_TEST_FILES: wanted = '' } = process.env;
  if (wanted !== '') await appendFile(wanted, files.map((file) => `${file}\n`).join(''));
}
