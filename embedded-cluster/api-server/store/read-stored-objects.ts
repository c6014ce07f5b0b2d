import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readLines } from './journal.ts';
import { type StoredObject, objectKey } from './stored-object.ts';

/** The file of a cluster's objects. */
export const journalPath = (directory: string): string => join(directory, 'journal', 'objects.journal');

/**
 * Returns the objects of the cluster in `directory` by their resource (`pods`,
 * `storageclasses.storage.k8s.io`), without the API server, which may run or not. Writes nothing. Returns
 * undefined if the cluster has no journal. Rejects with ProductError CLUSTER_JOURNAL_CORRUPT for a damaged
 * one.
 */
export async function readStoredObjects(
  directory: string,
): Promise<ReadonlyMap<string, readonly StoredObject[]> | undefined> {
  const file = journalPath(directory);
  const content = await readFile(file).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  });
  if (content === undefined) return undefined;
  const resources = new Map<string, Map<string, StoredObject>>();
  for (const record of readLines(content, file).records as readonly Partial<JournalRecord>[]) {
    const { resource, put, removed } = record;
    const object = put ?? removed;
    // The first record has only the revision.
    if (resource === undefined || object === undefined) continue;
    const objects = resources.get(resource) ?? new Map<string, StoredObject>();
    resources.set(resource, objects);
    const key = objectKey(object.metadata.namespace, object.metadata.name);
    if (put === undefined) objects.delete(key);
    else objects.set(key, put);
  }
  return new Map([...resources].map(([resource, objects]) => [resource, [...objects.values()]]));
}

interface JournalRecord {
  readonly resource: string;
  readonly put: StoredObject;
  readonly removed: StoredObject;
}
