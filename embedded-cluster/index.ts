/**
 * The names of the embedded cluster that the command line and the build use. Code outside of this folder imports
 * nothing else from it; tests may.
 */
export { besideCluster, builtCluster } from './daemon/built-cluster.ts';
export { checkOwner } from './daemon/check-owner.ts';
export { daemonStatus } from './daemon/daemon-status.ts';
export { removeClusterDirectory } from './daemon/remove-cluster-directory.ts';
export { startDaemon } from './daemon/start-daemon.ts';
export { stopDaemon } from './daemon/stop-daemon.ts';
export { hostRootImage } from './node/image/host-root-image.ts';
export { parseNodeArgument } from './node/parse-node.ts';
export { apiKubeletRoot } from './node/paths-in-objects.ts';
