/** The container that is the VM. */
export const vmContainer = 'bosh';
/** The init container of a VM's pod. */
export const prepareContainer = 'prepare';
/** The container of an attachment. */
export const mountContainer = 'hold';

/** Of the holder and of the init container: enough for a shell, and what a LimitRange may find too little. */
export const cpiContainerRequests = { cpu: '10m', memory: '32Mi' } as const;

const cpiContainers: ReadonlySet<string> = new Set([vmContainer, prepareContainer, mountContainer]);

/** False for a container that the cluster's admission webhooks added, as service meshes do. */
export const isCpiContainer = ({ name }: { readonly name: string }): boolean => cpiContainers.has(name);

/**
 * The container that is the VM, or its status. Never by place: an added one may stand before ours (Istio's
 * holdApplicationUntilProxyStarts), and statuses come in the order of names.
 */
export const vmContainerStatus = <T extends { readonly name: string }>(
  containers: readonly T[] | undefined,
): T | undefined => containers?.find(({ name }) => name === vmContainer);
