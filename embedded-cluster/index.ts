/**
 * The names of the embedded cluster that the command line uses. The product imports nothing else from this
 * folder; tests, benches and the build may.
 */
export { journalPath, readStoredObjects } from './api-server/store/read-stored-objects.ts';
export { besideCluster, builtCluster, checkOwner, daemonStatus } from './daemon/cluster-state.ts';
export { removeClusterDirectory } from './daemon/remove-cluster-directory.ts';
export { startDaemon } from './daemon/start-daemon.ts';
export { stopDaemon } from './daemon/stop-daemon.ts';
export { hostRootImage } from './node/node-object.ts';
export { parseNodeArgument } from './node/parse-node.ts';
export { apiKubeletRoot } from './node/node-paths.ts';
