import { join } from 'node:path';
import type { ClusterIdentity } from '../deploy/state/cluster-note.ts';
import { readBesideState } from '../deploy/state/read-beside-state.ts';
import { writeDurably } from '../deploy/durable-file.ts';
import { ProductError } from '../errors/product-error.ts';
import { isObject } from '../platform/fields.ts';

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
  /** The SHA-256 in hex of each file as init wrote it, by its path in the folder. */
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
  return readBesideState(path, isDirectorFile, (cause) => {
    const message = `File '${path}' is not what 'director init' writes; run it again in another folder, and compare`;
    return new ProductError('DIRECTORY_INVALID', message, { cause });
  });
}

/** Writes the file atomically, with mode 0600. */
export async function writeDirectorFile(directory: string, file: DirectorFile): Promise<void> {
  await writeDurably(directorFilePath(directory), `${JSON.stringify(file, null, 2)}\n`);
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
const isTextList = (value: unknown): boolean => Array.isArray(value) && value.every(isText);

const isExternalAddress = (value: unknown): boolean =>
  isObject(value) &&
  isText(value['host']) &&
  [value['director'], value['credhub']].every((port) => Number.isInteger(port));

function isDirectorFile(value: unknown): value is DirectorFile {
  if (!isObject(value)) return false;
  const { cluster, context, way, namespaces, networks, address, outside, written } = value;
  return (
    isObject(cluster) &&
    [cluster.server, cluster.kubeconfig, address].every(isText) &&
    [cluster.uid, cluster.ca_sha256, context].every((each) => each === undefined || isText(each)) &&
    accessModes.some((each) => each === way) &&
    isTextList(namespaces) &&
    (namespaces as string[]).length > 0 &&
    isTextList(networks) &&
    (outside === undefined || isExternalAddress(outside)) &&
    isObject(written) &&
    Object.values(written).every(isText)
  );
}
