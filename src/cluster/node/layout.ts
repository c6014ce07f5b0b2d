import { join } from 'node:path';

/** Where the node keeps things below the cluster's directory. Kubelet's own names where kubelet has one. */
export interface NodeLayout {
  readonly directory: string;
  readonly kubelet: string;
  readonly volumes: string;
  /** Directories on their way in or out: half copies and what is being removed. */
  readonly volumeTrash: string;
  readonly volumeSnapshots: string;
  readonly podLogs: string;
  /** Binds of the host's folders, read-only, made once per life. */
  readonly host: string;
  /** Which folders those are, as JSON. */
  readonly hostFolders: string;
  /** Skeleton of a container's root, copied at each start. */
  readonly image: string;
  /** Empty directory on which the node's own root is built (daemon/init.sh), and the mounts of that root. */
  readonly view: string;
  readonly viewMounts: string;
  /** The locales of pods, where they are not the machine's. */
  readonly locale: string;
  readonly plans: string;
  /** Empty directory on which each container, in its own namespace, builds its root. */
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
    hostFolders: join(own, 'host.json'),
    image: join(own, 'image'),
    view: join(own, 'view'),
    viewMounts: join(own, 'view.fstab'),
    locale: join(own, 'locale'),
    plans: join(own, 'plans'),
    root: join(own, 'root'),
  };
}

export const podDirectory = (layout: NodeLayout, uid: string): string => join(layout.kubelet, 'pods', uid);

/** `plugin` as kubelet spells it on disk, for example `kubernetes.io~empty-dir`. */
export const volumeDirectory = (layout: NodeLayout, uid: string, plugin: string, volume: string): string =>
  join(podDirectory(layout, uid), 'volumes', plugin, volume);
