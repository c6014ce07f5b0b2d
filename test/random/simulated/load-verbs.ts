import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

const cpi = join(import.meta.dirname, '../../../src/cpi');

/**
 * Loads the modules that verbs load on demand. Otherwise the duration of the first load would change the
 * order of the steps.
 */
export async function loadVerbs(): Promise<void> {
  for (const room of ['disk', 'vm']) {
    const files = await readdir(join(cpi, room), { recursive: true });
    const sources = files.filter(
      (file) => file.endsWith('.ts') && !file.endsWith('.test.ts') && !file.includes('testing'),
    );
    await Promise.all(sources.map((file) => import(join(cpi, room, file))));
  }
}
