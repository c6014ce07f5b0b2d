/** The reference under which the host's root passes for an image, and the only one that the embedded node runs. */
export const hostRootImage = 'embedded.bosh-kubernetes/host-root:1';
