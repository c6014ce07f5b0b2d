import { cp, link } from 'node:fs/promises';

/** Makes `to` a link of the file `from`, or a copy if they are on different file systems. */
export async function linkOrCopy(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
    await cp(from, to);
  }
}
