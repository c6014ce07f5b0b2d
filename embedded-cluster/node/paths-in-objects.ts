import type { NodeLayout } from './layout.ts';

/**
 * The cluster's directory in API objects. Objects stay valid if the directory is moved, so only the node
 * knows the real path. This path does not have to exist on the machine.
 */
const directoryInObjects = '/var/lib/bosh-kubernetes';

/** The kubelet directory in a hostPath, and so in the CPI's kubernetes.kubelet_root_dir. */
export const apiKubeletRoot = `${directoryInObjects}/kubelet`;

const replaceRoot = (path: string, from: string, to: string): string =>
  path.startsWith(`${from}/`) ? `${to}${path.slice(from.length)}` : path;

/** Returns a path below the cluster's directory in the form that API objects contain. */
export const toApiPath = ({ directory }: NodeLayout, path: string): string =>
  replaceRoot(path, directory, directoryInObjects);

/**
 * Returns the path on this machine for a path in an API object. A path that starts with the real path of the
 * cluster's directory is returned unchanged: it is valid until the next move, and earlier versions wrote such
 * paths.
 */
export const toLocalPath = ({ directory }: NodeLayout, path: string): string =>
  path.startsWith(`${directory}/`) ? path : replaceRoot(path, directoryInObjects, directory);
