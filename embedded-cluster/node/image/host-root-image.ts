/** The image reference for the host's root directory, the only one that the embedded node runs. */
export const hostRootImage = 'embedded.bosh-kubernetes/host-root:1';
