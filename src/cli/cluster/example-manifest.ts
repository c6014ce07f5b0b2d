import { lstatSync, type Stats } from 'node:fs';
import { mkdir, readFile, readdir } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { DeploymentFiles } from '../../deploy/state/deployment-files.ts';
import { ProductError } from '../../errors/product-error.ts';
import { replaceFile } from '../../platform/durable-file.ts';
import { exampleManifestPath } from '../args/env-arguments.ts';
import { isAt, type Listener } from './check-address-free.ts';

/** The address of the VM in examples/hello/manifest.yml. */
const network = '127.64.0';
const firstHost = 10;

export interface ExampleOptions {
  /** The value of `--state`. */
  readonly statePath: string | undefined;
  /** Returns the listeners of this machine. */
  readonly readListeners: () => Promise<readonly Listener[]>;
}

/**
 * Writes the example into the working directory, and returns true. Returns false, without changes, if its
 * manifest exists, edited or not. Throws INVALID_ARGUMENT if another directory or file has its name, and
 * FILE_NOT_FOUND if the manifest of a deployment was lost: the example could replace its VM and move its data
 * to a smaller disk. The VM gets the first address of the example's network on which no process listens.
 */
export async function writeExample(
  root: string,
  { statePath, readListeners }: ExampleOptions,
): Promise<boolean> {
  if (await hasExample()) return false;
  const deployment = await DeploymentFiles.find(exampleManifestPath, statePath);
  if (deployment.exist) throw lostManifest(deployment);
  const text = await readFile(join(root, 'examples', 'hello', 'manifest.yml'), 'utf8');
  await mkdir(dirname(exampleManifestPath), { recursive: true, mode: 0o755 });
  // The archives stay in the package, of whatever version that is: `up` sets the variable.
  const content = text
    .replaceAll('file://../../', 'file://((installation))/')
    .replaceAll(`${network}.${firstHost}`, freeAddress(await readListeners()));
  replaceFile(exampleManifestPath, content, 0o644);
  return true;
}

/**
 * Returns the first address without a listener. If all are taken, returns the first one, which
 * assertAddressFree then refuses.
 */
function freeAddress(listeners: readonly Listener[]): string {
  const addresses = Array.from({ length: 255 - firstHost }, (_, at) => `${network}.${firstHost + at}`);
  const isFree = (address: string): boolean => !listeners.some((listener) => isAt(listener, address));
  return addresses.find(isFree) ?? `${network}.${firstHost}`;
}

function lostManifest({ statePath }: DeploymentFiles): ProductError {
  return new ProductError(
    'FILE_NOT_FOUND',
    `There is no manifest '${resolve(exampleManifestPath)}', but '${statePath}' records a deployment of it; nothing was changed. ` +
      "Restore the manifest from a copy. Without one, 'bosh-kubernetes destroy' removes the deployment with its disks, and then 'up' " +
      'writes the example again; in another directory, up deploys another one',
  );
}

/**
 * Returns true if the example's manifest is in the working directory. Throws INVALID_ARGUMENT if another
 * directory or file has its name.
 */
export async function hasExample(): Promise<boolean> {
  const found = await findExample();
  if (typeof found === 'boolean') return found;
  throw new ProductError(
    'INVALID_ARGUMENT',
    `'${resolve(dirname(exampleManifestPath))}' ${found.problem}; nothing was changed. Without a manifest, the example in that ` +
      'directory is used: name a manifest, or run this command in another directory',
  );
}

/**
 * Nothing but its name leads to the manifest, so another user could have placed it in a shared directory.
 * Files that the group can write are usual (umask 002).
 */
const isOnlyOurs = ({ uid, mode }: Stats): boolean => uid === process.geteuid?.() && (mode & 0o002) === 0;
const notOurs = { problem: 'or its manifest.yml is not only yours: another user owns it or can write it' };

/** Returns whether the example's manifest is in the working directory, or what has its name instead. */
export async function findExample(): Promise<boolean | { readonly problem: string }> {
  const directory = dirname(exampleManifestPath);
  const entry = lstatSync(directory, { throwIfNoEntry: false });
  if (entry === undefined) return false;
  if (!entry.isDirectory()) return { problem: 'is not a directory' };
  if (!isOnlyOurs(entry)) return notOurs;
  const names = await readdir(directory);
  if (names.includes(basename(exampleManifestPath))) {
    const manifest = lstatSync(exampleManifestPath);
    if (!manifest.isFile() || !isOnlyOurs(manifest)) return notOurs;
    const text = await readFile(exampleManifestPath, 'utf8');
    if (text.trim() === '')
      return {
        problem: 'has a manifest.yml that is empty; once it is removed, the example is written',
      };
    const isForCreateEnv = /^cloud_provider:/mu.test(text);
    return (
      isForCreateEnv || { problem: 'has a manifest.yml without cloud_provider, which is not for create-env' }
    );
  }
  // The deployer keeps files beside a manifest, and a killed run may have left a draft of it.
  const isOurs = names.every((name) => name.startsWith('manifest'));
  return isOurs ? false : { problem: 'has files that do not belong to the example' };
}
