/**
 * The names of the embedded cluster that the command line and the build use. Code outside of this folder imports
 * nothing else from it; tests may.
 */
export { besideCluster, builtCluster } from './daemon/cluster-state.ts';
export { checkOwner } from './daemon/cluster-state.ts';
export { daemonStatus } from './daemon/cluster-state.ts';
export { removeClusterDirectory } from './daemon/remove-cluster-directory.ts';
export { startDaemon } from './daemon/start-daemon.ts';
export { stopDaemon } from './daemon/stop-daemon.ts';
export { hostRootImage } from './node/node-object.ts';
export { parseNodeArgument } from './node/parse-node.ts';
export { apiKubeletRoot } from './node/node-paths.ts';
