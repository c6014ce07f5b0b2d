import { join } from 'node:path';

/**
 * The paths of the node's files below the cluster's directory. The names are kubelet's, if kubelet has one.
 */
export interface NodeLayout {
  readonly directory: string;
  readonly kubelet: string;
  readonly volumes: string;
  /** Directories that are being created or removed: half copies, and volumes during their removal. */
  readonly volumeTrash: string;
  readonly volumeSnapshots: string;
  readonly podLogs: string;
  /** Read-only bind mounts of the host's directories, made once per run. */
  readonly host: string;
  /** The list of those directories, as JSON. */
  readonly hostDirectories: string;
  /** The skeleton of a container's root, copied at each start. */
  readonly image: string;
  /**
   * The empty directory on which the node's own root is built (daemon/init.sh), and the mounts of that root.
   */
  readonly view: string;
  readonly viewMounts: string;
  /** The locales of pods, if they differ from the machine's. */
  readonly locale: string;
  readonly plans: string;
  /** The empty directory on which each container, in its own namespace, builds its root. */
  readonly root: string;
}

export function nodeLayout(directory: string): NodeLayout {
  const own = join(directory, 'node');
  return {
    directory,
    kubelet: join(directory, 'kubelet'),
    volumes: join(directory, 'volumes'),
    volumeTrash: join(directory, 'volumes', '.trash'),
    volumeSnapshots: join(directory, 'volumes', '.snapshots'),
    podLogs: join(directory, 'logs', 'pods'),
    host: join(own, 'host'),
    hostDirectories: join(own, 'host.json'),
    image: join(own, 'image'),
    view: join(own, 'view'),
    viewMounts: join(own, 'view.fstab'),
    locale: join(own, 'locale'),
    plans: join(own, 'plans'),
    root: join(own, 'root'),
  };
}

export const podDirectory = (layout: NodeLayout, uid: string): string => join(layout.kubelet, 'pods', uid);

/** `plugin` is the name as kubelet writes it on disk, for example `kubernetes.io~empty-dir`. */
export const volumeDirectory = (layout: NodeLayout, uid: string, plugin: string, volume: string): string =>
  join(podDirectory(layout, uid), 'volumes', plugin, volume);

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
