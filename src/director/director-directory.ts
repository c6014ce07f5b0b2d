import { createHash } from 'node:crypto';
import { join, dirname } from 'node:path';
import { writeDurably, removeDurably } from '../deploy/durable-file.ts';
import { parseClusterIdentity, type ClusterIdentity } from '../deploy/state/recorded-cluster.ts';
import { ProductError } from '../errors/product-error.ts';
import type { Field } from '../platform/field.ts';
import { ensurePrivateDirectory } from '../platform/private-directory.ts';
import { readOwnFile } from '../platform/read-file.ts';
import { readOwnJson } from '../platform/read-own-json.ts';
import { parseFoundryRecord, type FoundryRecord } from './cloud-foundry/foundry-record.ts';

/** How the operator's machine reaches the director. */
export const accessModes = ['tunnel', 'nodeport', 'loadbalancer', 'direct'] as const;
export type AccessMode = (typeof accessModes)[number];

/**
 * The content of `director.json` in the folder of a director: how to reach the director, and what `director
 * init` wrote.
 */
export interface DirectorFile {
  /** The cluster that init has checked; its `kubeconfig` is an absolute path. */
  readonly cluster: ClusterIdentity;
  /** The context of that kubeconfig. Default: the current one. */
  readonly context?: string;
  readonly way: AccessMode;
  /** The namespace of the director first, then those of its VMs and disks. */
  readonly namespaces: readonly string[];
  /** CIDRs of the manual networks of the director and its cloud-config. */
  readonly networks: readonly string[];
  /** Address of the director: an address of `networks`, or the name or ClusterIP of its Service. */
  readonly address: string;
  /**
   * The host and ports at which the operator reaches the API and CredHub. Default: `address`, 25555 and 8844.
   */
  readonly outside?: { readonly host: string; readonly director: number; readonly credhub: number };
  /** Undefined: no Cloud Foundry was prepared in the folder. */
  readonly cloudFoundry?: FoundryRecord;
  /** The SHA-256 in hex of each file as a run of init wrote it, by its path in the folder. */
  readonly written: Readonly<Record<string, string>>;
}

export function directorFilePath(directory: string): string {
  return join(directory, 'director.json');
}

/**
 * Reads `director.json`; undefined if the folder has none. Rejects with FILE_NOT_TRUSTED for a link or
 * another user's file, and with DIRECTORY_INVALID for a file that `director init` did not write.
 */
export function readDirectorFile(directory: string): Promise<DirectorFile | undefined> {
  const path = directorFilePath(directory);
  return readOwnJson(path, parseDirectorFile, (problem, cause) => {
    const message = `File '${path}' was not written by 'director init': ${problem}; run it again in another folder, and compare`;
    return new ProductError('DIRECTORY_INVALID', message, { cause });
  });
}

/** Writes the file atomically, with mode 0600. */
export async function writeDirectorFile(directory: string, file: DirectorFile): Promise<void> {
  await writeDurably(directorFilePath(directory), `${JSON.stringify(file, null, 2)}\n`);
}

function parseDirectorFile(file: Field): DirectorFile {
  const context = file.get('context').optional()?.nonEmptyString();
  const outside = file.get('outside').optional();
  const cloudFoundry = file.get('cloudFoundry').optional();
  const namespaces = file.get('namespaces');
  if (namespaces.list().length === 0) throw namespaces.error('must not be empty');
  return {
    cluster: parseClusterIdentity(file.get('cluster')),
    ...(context !== undefined && { context }),
    way: file.get('way').oneOf(accessModes),
    namespaces: namespaces.strings(),
    networks: file.get('networks').required().strings(),
    address: file.get('address').nonEmptyString(),
    ...(outside !== undefined && { outside: parseOutside(outside) }),
    ...(cloudFoundry !== undefined && { cloudFoundry: parseFoundryRecord(cloudFoundry) }),
    written: Object.fromEntries(
      file
        .get('written')
        .required()
        .entries()
        .map(([path, digest]) => [path, digest.nonEmptyString()]),
    ),
  };
}

const parseOutside = (outside: Field): DirectorFile['outside'] & object => ({
  host: outside.get('host').nonEmptyString(),
  director: outside.get('director').integer(),
  credhub: outside.get('credhub').integer(),
});

/** The digests, by path, that a killed run may have written. */
type WriteJournal = Readonly<Record<string, readonly string[]>>;

/** The result for the files of a folder, by their paths in it. */
export interface WrittenDirectory {
  readonly written: readonly string[];
  /** Files that the operator edited. They are unchanged. */
  readonly keptFiles: readonly string[];
}

/** The file of the commands, by its path in the folder. */
export const commandsFile = 'commands.sh';

/**
 * Returns the paths of those files that the operator edited: the folder has content that neither an earlier
 * run wrote nor a run with these texts would write.
 */
export async function findEditedFiles(
  directory: string,
  files: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  const previous = await readDirectorFile(directory);
  const intended = await readIntent(directory);
  const edited: string[] = [];
  for (const [path, text] of Object.entries(files)) {
    const found = await readOwnFile(join(directory, path));
    const own = [previous?.written[path], ...(intended[path] ?? []), digestOf(text)];
    if (found !== undefined && !own.includes(digestOf(found))) edited.push(path);
  }
  return edited;
}

/**
 * Writes the files of a director's folder with mode 0600, then director.json, then commands.sh. Keeps files
 * that the operator edited. After a kill at any point the next run completes the folder, because a journal
 * records the intended files first. Until then the folder has no commands.sh except an edited one, so that
 * nothing is deployed that director.json does not describe. Rejects with FILE_NOT_TRUSTED if others can write
 * in the folder or in one below it, or if one is a link.
 */
export async function writeDirectory(
  directory: string,
  files: Readonly<Record<string, string>>,
  file: Omit<DirectorFile, 'written'>,
): Promise<WrittenDirectory> {
  const privateDirectory = await ensurePrivateDirectory(directory);
  for (const path of Object.keys(files)) await ensurePrivateDirectory(dirname(join(privateDirectory, path)));
  const kept = await findEditedFiles(privateDirectory, files);
  const previous = await readDirectorFile(privateDirectory);
  const intended = await readIntent(privateDirectory);
  const digests = mapValues(files, digestOf);
  const isKept = (path: string): boolean => kept.includes(path);
  const fresh = Object.entries(files).filter(([path]) => !isKept(path));
  const journal = mapValues(digests, (digest, path) => [
    ...(intended[path] ?? []),
    ...(isKept(path) ? [] : [digest]),
  ]);
  const write = async (each: typeof fresh): Promise<void> => {
    for (const [path, text] of each) await writeDurably(join(privateDirectory, path), text);
  };
  await writeDurably(intentPath(privateDirectory), `${JSON.stringify(journal, null, 2)}\n`);
  const commands = fresh.filter(([path]) => path === commandsFile);
  for (const [path] of commands) await removeDurably(join(privateDirectory, path));
  await write(fresh.filter(([path]) => path !== commandsFile));
  // a kept file still counts as edited: the record keeps the digest of the file that init wrote
  const written = {
    // files of other options stay in the folder, and a later run with these options replaces them
    ...previous?.written,
    ...mapValues(digests, (digest, path) => (isKept(path) ? (previous?.written[path] ?? digest) : digest)),
  };
  await writeDirectorFile(privateDirectory, { ...file, written });
  await write(commands);
  await removeDurably(intentPath(privateDirectory));
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
const intentPath = (directory: string): string => join(directory, 'director.json.intent');

async function readIntent(directory: string): Promise<WriteJournal> {
  const path = intentPath(directory);
  const parse = (file: Field): WriteJournal =>
    Object.fromEntries(file.entries().map(([name, digests]) => [name, digests.required().strings()]));
  return (
    (await readOwnJson(path, parse, (problem, cause) => {
      const message = `File '${path}' was not written by 'director init': ${problem}; remove it`;
      return new ProductError('DIRECTORY_INVALID', message, { cause });
    })) ?? {}
  );
}
