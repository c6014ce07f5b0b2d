import type { NodeLayout } from './layout.ts';

/**
 * What objects call the cluster's directory. They outlive a move of it, so only the node knows where it is; nothing has to be at
 * this path of the machine.
 */
const directoryInObjects = '/var/lib/bosh-kubernetes';

/** The kubelet directory as a hostPath, and so the CPI's kubernetes.kubelet_root_dir, names it. */
export const apiKubeletRoot = `${directoryInObjects}/kubelet`;

const replaceRoot = (path: string, from: string, to: string): string =>
  path.startsWith(`${from}/`) ? `${to}${path.slice(from.length)}` : path;

/** A path below the cluster's directory as an object should have it. */
export const toApiPath = ({ directory }: NodeLayout, path: string): string =>
  replaceRoot(path, directory, directoryInObjects);

/**
 * Where a path of an object is on this machine. One that names the cluster's directory by its place is kept: it is true until
 * the next move, and earlier versions wrote such.
 */
export const toLocalPath = ({ directory }: NodeLayout, path: string): string =>
  path.startsWith(`${directory}/`) ? path : replaceRoot(path, directoryInObjects, directory);
