import { readdir } from 'node:fs/promises';

/** Returns the names in a directory; none if the directory does not exist. */
export async function listDirectory(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return [];
    }
    throw error;
  }
}
