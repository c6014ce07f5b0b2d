import { isProductError } from '../../errors/product-error.ts';
import { pluginType } from '../plugin/config.ts';
import { type CniPaths, defaultNamespaces } from './arguments.ts';
import {
  type Network,
  readWrappedNetwork,
  listNetworkFiles,
  managedConflistName,
  readNetwork,
  isJson,
  mentionsPlugin,
  wrapConflist,
} from './conflist.ts';
import { removeUnfinished, removeDurable, writeAtomic } from './durable.ts';
import type { Executable } from './executable.ts';
import { isSystemError } from './system-error.ts';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isObject, tryParseJson } from '../../platform/json.ts';
import { existsSync } from 'node:fs';

/**
 * Brings the node to the desired state, whatever its state was: the executable first, then the configuration
 * that names it, so that a kill in between leaves a working network. Returns a message with the result.
 * Rejects with STATIC_IP_NOT_INSTALLED if the existing network cannot be wrapped; our configuration is
 * removed then.
 */
export async function install(paths: CniPaths, executable: Executable): Promise<string> {
  const { conflistDirectory, binDirectory } = paths;
  await removeUnfinished(binDirectory);
  await removeUnfinished(conflistDirectory);
  await saveOptions(paths);
  const previous = await readWrappedNetwork(paths);
  if (previous === undefined) {
    await removeDurable(conflistDirectory, managedConflistName);
    return `${conflistDirectory} has no ${paths.conflist ?? 'network configuration'} yet: waiting for it`;
  }
  const present = await readNetwork(conflistDirectory, managedConflistName);
  if (present !== undefined && !isJson(previous.text)) {
    // its owner may still be writing the file
    await executable.install(binDirectory);
    return `${previous.file} is not valid JSON: until it is, ${managedConflistName} is not changed`;
  }
  const text = mentionsPlugin(previous.text) ? undefined : await wrapOrRemove(paths, previous);
  await executable.install(binDirectory);
  if (text === undefined) {
    await removeDurable(conflistDirectory, managedConflistName);
    return `${previous.file} uses static-ip already: only the executable is kept up to date`;
  }
  if (present?.text !== text || present.mode !== previous.mode)
    await writeAtomic(conflistDirectory, managedConflistName, text, previous.mode);
  return `${managedConflistName} puts static-ip in front of ${previous.file}`;
}

/**
 * Wraps the existing network. If that is impossible, removes our configuration: the network that it wraps no
 * longer exists, and our file would keep a network alive that its owner has removed.
 */
async function wrapOrRemove(paths: CniPaths, previous: Network): Promise<string> {
  try {
    return wrappedFor(paths, previous);
  } catch (error) {
    if (isProductError(error)) await removeDurable(paths.conflistDirectory, managedConflistName);
    throw error;
  }
}

const wrappedFor = ({ plugin, namespaces = defaultNamespaces }: CniPaths, previous: Network): string =>
  wrapConflist({ ...previous, plugin, namespaces });

/**
 * True if `install` would change nothing and pods get their addresses through the plugin. Uses the network
 * and the plugin of the last `install` if `requested` does not name them.
 */
export async function isInstalled(requested: CniPaths, executable: Executable): Promise<boolean> {
  const paths = await withSavedOptions(requested);
  const previous = await readWrappedNetwork(paths);
  if (previous === undefined || !(await executable.isSame(paths.binDirectory))) return false;
  if (mentionsPlugin(previous.text)) return true;
  const present = await readNetwork(paths.conflistDirectory, managedConflistName);
  return present?.text === wrappedFor(paths, previous);
}

/**
 * Restores the original network. The configuration is removed first, so that no configuration ever names a
 * missing plugin. The executable stays if a configuration of others names it. Idempotent.
 */
export async function uninstall(paths: CniPaths): Promise<string> {
  const { conflistDirectory, binDirectory } = paths;
  await removeDurable(conflistDirectory, managedConflistName);
  const user = await findExecutableUser(conflistDirectory);
  if (user === undefined) await removeDurable(binDirectory, pluginType);
  await deleteApiAccess(paths);
  await deleteOptions(paths);
  await removeUnfinished(binDirectory);
  await removeUnfinished(conflistDirectory);
  return user === undefined
    ? 'static-ip is removed; the original network is restored'
    : `${managedConflistName} is removed; the executable stays, because ${user}`;
}

/** Returns why the executable is still needed, for a message. */
async function findExecutableUser(directory: string): Promise<string | undefined> {
  const files = await listNetworkFiles(directory);
  const reasons = await Promise.all(files.map((file) => findUse(directory, file)));
  return reasons.find((reason) => reason !== undefined);
}

async function findUse(directory: string, file: string): Promise<string | undefined> {
  try {
    const network = await readNetwork(directory, file);
    return network !== undefined && mentionsPlugin(network.text) ? `${file} uses it` : undefined;
  } catch (error) {
    if (!isSystemError(error)) throw error;
    // a runtime may be able to read what this process cannot
    return `${file} may use it and cannot be read (${error.message}): delete the executable if that file does not use it`;
  }
}

/** A file in the directory of the plugins; runtimes ignore it. */
const optionsRecord = '.static-ip-choice';

/**
 * Records on the node the options of an installer (network, plugin, namespaces), for a probe that has no
 * arguments.
 */
export async function saveOptions(paths: CniPaths): Promise<void> {
  const { binDirectory, conflist, plugin, namespaces } = paths;
  const hasOptions = [conflist, plugin, namespaces].some((each) => each !== undefined);
  const text = hasOptions ? JSON.stringify({ conflist, plugin, namespaces }) : undefined;
  if (text === (await readSavedOptions(binDirectory))) return;
  if (text === undefined) await deleteOptions(paths);
  else await writeAtomic(binDirectory, optionsRecord, text, 0o644);
}

/**
 * Adds the options of the last installer for the options that are not given: a probe has no arguments of its
 * own.
 */
export async function withSavedOptions(paths: CniPaths): Promise<CniPaths> {
  const value = tryParseJson((await readSavedOptions(paths.binDirectory)) ?? '');
  const { conflist, plugin, namespaces } = isObject(value) ? value : {};
  return {
    ...paths,
    conflist: paths.conflist ?? textOf(conflist),
    plugin: paths.plugin ?? textOf(plugin),
    namespaces: paths.namespaces ?? textsOf(namespaces),
  };
}

/** Removes the record. Called when the plugin is removed. */
export function deleteOptions({ binDirectory }: CniPaths): Promise<void> {
  return removeDurable(binDirectory, optionsRecord);
}

async function readSavedOptions(directory: string): Promise<string | undefined> {
  try {
    return await readFile(join(directory, optionsRecord), 'utf8');
  } catch (error) {
    if (isSystemError(error) && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

const textsOf = (value: unknown): readonly string[] | undefined =>
  Array.isArray(value) ? value.filter((each) => typeof each === 'string') : undefined;

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** A file in the directory of the plugins; runtimes ignore it. */
const apiAccessRecord = '.static-ip-allowed';

/**
 * Records on the node that the API once allowed a pod of this node to read its DaemonSet. The next container
 * needs to know that.
 */
export interface ApiAccess {
  readonly isRecorded: () => boolean;
  readonly record: () => Promise<void>;
}

export function apiAccessIn({ binDirectory }: CniPaths): ApiAccess {
  return {
    isRecorded: () => existsSync(join(binDirectory, apiAccessRecord)),
    record: async () => {
      if (!existsSync(join(binDirectory, apiAccessRecord)))
        await writeAtomic(binDirectory, apiAccessRecord, '', 0o644);
    },
  };
}

/** Removes the record. Called when the plugin is removed. */
export function deleteApiAccess({ binDirectory }: CniPaths): Promise<void> {
  return removeDurable(binDirectory, apiAccessRecord);
}
