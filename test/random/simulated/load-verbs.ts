import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

const cpi = join(import.meta.dirname, '../../../src/cpi');

/**
 * Loads what verbs load when they need it: the first time would take as long as the machine likes, and steps
 * would come in another order.
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
