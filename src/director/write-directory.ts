import { createHash } from 'node:crypto';
import { dirname, join } from 'node:path';
import { removeDurably, writeDurably } from '../deploy/durable-file.ts';
import { readBesideState } from '../deploy/state/read-beside-state.ts';
import { ProductError } from '../errors/product-error.ts';
import { isObject } from '../platform/fields.ts';
import { ensurePrivateDirectory } from '../platform/own-folder.ts';
import { readOwnFile } from '../platform/read-file.ts';
import { readDirectorFile, writeDirectorFile, type DirectorFile } from './director-file.ts';

/** By path, each digest that a killed run may have left. */
type WriteJournal = Readonly<Record<string, readonly string[]>>;

/** What became of the files of a folder, by their paths in it. */
export interface WrittenDirectory {
  readonly written: readonly string[];
  /** The operator edited them; they are as they were. */
  readonly keptFiles: readonly string[];
}

/**
 * Writes the files of a director's folder, 0600 each, director.json last. A file that is neither there as a
 * former run wrote it nor as this one would is the operator's and stays. Killed at any point, the next run
 * completes the folder: what this run is about to write is noted first. FILE_NOT_TRUSTED where others can
 * write in the folder, or in one below it, or that is a link.
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
  // a kept file stays known as edited: its digest is still that of what init wrote
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

/** Digests of what a run was about to write; there only while one is at it, or after a killed one. */
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
