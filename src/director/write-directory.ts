import { createHash } from 'node:crypto';
import { dirname, join } from 'node:path';
import { removeDurably, writeDurably } from '../deploy/durable-file.ts';
import { readBesideState } from '../deploy/state/read-beside-state.ts';
import { ProductError } from '../errors/product-error.ts';
import { isObject } from '../platform/fields.ts';
import { ensurePrivateDirectory } from '../platform/private-directory.ts';
import { readOwnFile } from '../platform/read-file.ts';
import { readDirectorFile, writeDirectorFile, type DirectorFile } from './director-file.ts';

/** For each path, the digests that a killed run may have left. */
type WriteJournal = Readonly<Record<string, readonly string[]>>;

/** The result for the files of a folder, by their paths in it. */
export interface WrittenDirectory {
  readonly written: readonly string[];
  /** Files that the operator edited. They are unchanged. */
  readonly keptFiles: readonly string[];
}

/**
 * Writes the files of a director's folder with mode 0600, director.json last. Keeps files that the operator
 * edited: content that neither an earlier run nor this run wrote. After a kill at any point the next run
 * completes the folder, because a journal records the intended files first. Rejects with FILE_NOT_TRUSTED if
 * others can write in the folder or in one below it, or if one is a link.
 */
export async function writeDirectory(
  directory: string,
  files: Readonly<Record<string, string>>,
  file: Omit<DirectorFile, 'written'>,
): Promise<WrittenDirectory> {
  const folder = await ensurePrivateDirectory(directory);
  for (const path of Object.keys(files)) await ensurePrivateDirectory(dirname(join(folder, path)));
  const previousDigests = await readDirectorFile(folder);
  const intended = await readIntent(folder);
  const digests = mapValues(files, digestOf);
  const kept: string[] = [];
  for (const path of Object.keys(files)) {
    const found = await readOwnFile(join(folder, path));
    const own = [previousDigests?.written[path], ...(intended[path] ?? []), digests[path]];
    if (found !== undefined && !own.includes(digestOf(found))) kept.push(path);
  }
  const isKept = (path: string): boolean => kept.includes(path);
  const fresh = Object.entries(files).filter(([path]) => !isKept(path));
  const intent = mapValues(digests, (digest, path) => [
    ...(intended[path] ?? []),
    ...(isKept(path) ? [] : [digest]),
  ]);
  await writeDurably(intentPath(folder), `${JSON.stringify(intent, null, 2)}\n`);
  for (const [path, text] of fresh) await writeDurably(join(folder, path), text);
  // a kept file still counts as edited: the record keeps the digest of the file that init wrote
  const written = mapValues(digests, (digest, path) =>
    isKept(path) ? (previousDigests?.written[path] ?? digest) : digest,
  );
  await writeDirectorFile(folder, { ...file, written });
  await removeDurably(intentPath(folder));
  return { written: fresh.map(([path]) => path), keptFiles: kept };
}

const mapValues = <A, B>(
  record: Readonly<Record<string, A>>,
  change: (value: A, key: string) => B,
): Record<string, B> =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value, key)]));

const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/**
 * The path of the journal: digests of the files that a run is about to write. It exists only during a run or
 * after a killed one.
 */
const intentPath = (folder: string): string => join(folder, 'director.json.intent');

async function readIntent(folder: string): Promise<WriteJournal> {
  const path = intentPath(folder);
  const isIntent = (value: unknown): value is WriteJournal =>
    isObject(value) && Object.values(value).every(Array.isArray);
  const invalid = (cause?: unknown): ProductError =>
    new ProductError('DIRECTORY_INVALID', `File '${path}' is not what 'director init' writes; remove it`, {
      cause,
    });
  return (await readBesideState(path, isIntent, invalid)) ?? {};
}
