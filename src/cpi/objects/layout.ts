import { type Toleration } from '../../kubernetes/types/pod.ts';
/** The container of the VM. */
export const vmContainer = 'bosh';
/** The init container of a VM's pod. */
export const prepareContainer = 'prepare';
/** The mount container of an attachment pod. */
export const mountContainer = 'hold';

/**
 * Resource requests of the mount container and of the init container. They are enough for a shell, and a
 * LimitRange may require more.
 */
export const cpiContainerRequests = { cpu: '10m', memory: '32Mi' } as const;

const cpiContainers: ReadonlySet<string> = new Set([vmContainer, prepareContainer, mountContainer]);

/** Returns false for a container that an admission webhook of the cluster added, as service meshes do. */
export const isCpiContainer = ({ name }: { readonly name: string }): boolean => cpiContainers.has(name);

/**
 * Returns the VM's container, or its status. Never use the index: a webhook may insert a container before it
 * (Istio's holdApplicationUntilProxyStarts), and statuses are sorted by name.
 */
export const vmContainerStatus = <T extends { readonly name: string }>(
  containers: readonly T[] | undefined,
): T | undefined => containers?.find(({ name }) => name === vmContainer);

export const hubVolume = 'hub';

/** A VM stays on its node when the node is unreachable: BOSH resurrects VMs, Kubernetes must not. */
export const unlimitedTolerations: readonly Toleration[] = ['not-ready', 'unreachable'].map((reason) => ({
  key: `node.kubernetes.io/${reason}`,
  operator: 'Exists',
  effect: 'NoExecute',
}));

export const settingsKey = 'settings.json';

export const hubPath = '/warden-cpi-dev';
