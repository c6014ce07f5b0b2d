import { isProductError } from '../../errors/product-error.ts';
import { pluginType } from '../plugin/network-config.ts';
import { forgetAllowance } from './allowance.ts';
import type { CniPaths } from './arguments.ts';
import { defaultNamespaces } from './arguments.ts';
import { deleteOptions, saveOptions, withSavedOptions } from './choice.ts';
import type { Network } from './conflist-directory.ts';
import { wrappedNetwork, networkFiles, managedConflistName, readNetwork } from './conflist-directory.ts';
import { removeUnfinished, removeDurable, writeAtomic } from './durable.ts';
import type { Executable } from './executable.ts';
import { isSystemError } from './system-error.ts';
import { isJson, mentionsPlugin, wrapConflist } from './wrap-conflist.ts';

/**
 * Brings the node to the desired state, whatever its state was: the executable first, then the configuration
 * that names it, so that a kill in between leaves a working network. Returns a message with the result.
 * Rejects with STATIC_IP_NOT_INSTALLED if the existing network cannot be wrapped; our configuration is
 * removed then.
 */
export async function install(place: CniPaths, executable: Executable): Promise<string> {
  const { conflistDirectory, binDirectory } = place;
  await removeUnfinished(binDirectory);
  await removeUnfinished(conflistDirectory);
  await saveOptions(place);
  const former = await wrappedNetwork(place);
  if (former === undefined) {
    await removeDurable(conflistDirectory, managedConflistName);
    return `${conflistDirectory} has no ${place.conflist ?? 'network configuration'} yet: waiting for it`;
  }
  const present = await readNetwork(conflistDirectory, managedConflistName);
  if (present !== undefined && !isJson(former.text)) {
    // its owner may still be writing the file
    await executable.place(binDirectory);
    return `${former.file} is no JSON: until it is, ${managedConflistName} stays as it was`;
  }
  const text = mentionsPlugin(former.text) ? undefined : await wrapOrRemove(place, former);
  await executable.place(binDirectory);
  if (text === undefined) {
    await removeDurable(conflistDirectory, managedConflistName);
    return `${former.file} has static-ip in it already: only the executable is kept up`;
  }
  if (present?.text !== text || present.mode !== former.mode)
    await writeAtomic(conflistDirectory, managedConflistName, text, former.mode);
  return `static-ip is before ${former.file} by ${managedConflistName}`;
}

/**
 * Wraps the existing network. If that is impossible, removes our configuration: the network that it wraps no
 * longer exists, and our file would keep a network alive that its owner has removed.
 */
async function wrapOrRemove(place: CniPaths, former: Network): Promise<string> {
  try {
    return wrappedFor(place, former);
  } catch (error) {
    if (isProductError(error)) await removeDurable(place.conflistDirectory, managedConflistName);
    throw error;
  }
}

const wrappedFor = ({ plugin, namespaces = defaultNamespaces }: CniPaths, former: Network): string =>
  wrapConflist({ ...former, plugin, namespaces });

/**
 * True if `install` would change nothing and pods get their addresses through the plugin. Uses the network
 * and the plugin of the last `install` if `asked` does not name them.
 */
export async function isInstalled(asked: CniPaths, executable: Executable): Promise<boolean> {
  const place = await withSavedOptions(asked);
  const former = await wrappedNetwork(place);
  if (former === undefined || !(await executable.isSame(place.binDirectory))) return false;
  if (mentionsPlugin(former.text)) return true;
  const present = await readNetwork(place.conflistDirectory, managedConflistName);
  return present?.text === wrappedFor(place, former);
}

/**
 * Restores the original network. The configuration is removed first, so that no configuration ever names a
 * missing plugin. The executable stays if a configuration of others names it. Idempotent.
 */
export async function uninstall(place: CniPaths): Promise<string> {
  const { conflistDirectory, binDirectory } = place;
  await removeDurable(conflistDirectory, managedConflistName);
  const user = await firstUser(conflistDirectory);
  if (user === undefined) await removeDurable(binDirectory, pluginType);
  await forgetAllowance(place);
  await deleteOptions(place);
  await removeUnfinished(binDirectory);
  await removeUnfinished(conflistDirectory);
  return user === undefined
    ? 'static-ip is removed; the former network is back'
    : `${managedConflistName} is removed; the executable stays, because ${user}`;
}

/** Returns why the executable is still needed, for a message. */
async function firstUser(directory: string): Promise<string | undefined> {
  const files = await networkFiles(directory);
  const reasons = await Promise.all(files.map((file) => use(directory, file)));
  return reasons.find((reason) => reason !== undefined);
}

async function use(directory: string, file: string): Promise<string | undefined> {
  try {
    const network = await readNetwork(directory, file);
    return network !== undefined && mentionsPlugin(network.text) ? `${file} names it` : undefined;
  } catch (error) {
    if (!isSystemError(error)) throw error;
    // a runtime may be able to read what this process cannot
    return `${file} may name it and cannot be read (${error.message}): delete the executable if it does not`;
  }
}
