import { pluginType } from '../plugin/network-config.ts';
import { forgetAllowance } from './allowance.ts';
import type { Place } from './arguments.ts';
import { formerNetwork, networkFiles, ownConflist, readNetwork } from './conflist-directory.ts';
import { removeUnfinished, removeWhole, writeWhole } from './durable.ts';
import type { Executable } from './executable.ts';
import { mentionsPlugin, wrapConflist } from './wrap-conflist.ts';

/**
 * Makes the node as it is meant to be, whatever was there before: the executable first, then the configuration that names
 * it, so that a kill in between leaves a network that works. Returns what is in place, in words.
 * Rejects with STATIC_IP_NOT_INSTALLED where the present network cannot be put behind the plugin.
 */
export async function install(place: Place, executable: Executable): Promise<string> {
  const { conflistDirectory, binDirectory } = place;
  await removeUnfinished(binDirectory);
  await removeUnfinished(conflistDirectory);
  const former = await formerNetwork(place);
  if (former === undefined) {
    // what stood behind ours is gone, and ours would keep a network alive that its owner removed
    await removeWhole(conflistDirectory, ownConflist);
    return `${conflistDirectory} has no ${place.conflist ?? 'network configuration'} yet: waiting for it`;
  }
  const byHand = mentionsPlugin(former.text);
  const text = byHand ? '' : wrapConflist({ ...former, plugin: place.plugin });
  await executable.place(binDirectory);
  if (byHand) {
    await removeWhole(conflistDirectory, ownConflist);
    return `${former.file} has static-ip in it already: only the executable is kept up`;
  }
  const present = await readNetwork(conflistDirectory, ownConflist);
  if (present?.text !== text || present.mode !== former.mode)
    await writeWhole(conflistDirectory, ownConflist, text, former.mode);
  return `static-ip is before ${former.file} by ${ownConflist}`;
}

/** True where `install` would change nothing and pods get their addresses through the plugin. */
export async function isInstalled(place: Place, executable: Executable): Promise<boolean> {
  const former = await formerNetwork(place);
  if (former === undefined || !(await executable.isLike(place.binDirectory))) return false;
  if (mentionsPlugin(former.text)) return true;
  const present = await readNetwork(place.conflistDirectory, ownConflist);
  return present?.text === wrapConflist({ ...former, plugin: place.plugin });
}

/**
 * Puts the former network back: the configuration goes first, so that none ever names a plugin that is not there. The
 * executable stays where a configuration that is not ours names it. Again is fine.
 */
export async function uninstall(place: Place): Promise<string> {
  const { conflistDirectory, binDirectory } = place;
  await removeWhole(conflistDirectory, ownConflist);
  const others = await Promise.all(
    (await networkFiles(conflistDirectory)).map((file) => readNetwork(conflistDirectory, file)),
  );
  const user = others.find((network) => network !== undefined && mentionsPlugin(network.text));
  if (user === undefined) await removeWhole(binDirectory, pluginType);
  await forgetAllowance(place);
  await removeUnfinished(binDirectory);
  await removeUnfinished(conflistDirectory);
  return user === undefined
    ? 'static-ip is removed; the former network is back'
    : `${ownConflist} is removed; the executable stays, because ${user.file} names it`;
}
