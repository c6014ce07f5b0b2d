import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

/** The paths of a test cluster. */
export interface ClusterPaths {
  readonly name: string;
  readonly directory: string;
  readonly pki: string;
  /** The administrator's kubeconfig. */
  readonly kubeconfig: string;
  /**
   * host-local's allocations: one directory for all nodes, so that each address is assigned once in the
   * cluster.
   */
  readonly podAddresses: string;
  /** The CNI plugin, if this machine can build it. */
  readonly staticIp: string;
}

/**
 * Returns the names of the clusters that suites of one name run on. Suites on the second and third disturb
 * nodes.
 */
export const clusterNames = (name: string): readonly string[] => [name, `${name}-2`, `${name}-3`];

export function clusterPathsOf(name: string, environment: NodeJS.ProcessEnv = process.env): ClusterPaths {
  if (!/^[a-z0-9]([a-z0-9-]{0,18}[a-z0-9])?$/.test(name)) {
    throw new Error(`"${name}" is no name for a cluster: up to 20 of a-z, 0-9 and - inside`);
  }
  const { XDG_STATE_HOME: given = '', HOME: home = '' } = environment;
  const base = isAbsolute(given) ? given : join(home === '' ? homedir() : home, '.local', 'state');
  const directory = join(base, 'bosh-kubernetes', 'clusters', name);
  return {
    name,
    directory,
    pki: join(directory, 'pki'),
    kubeconfig: join(directory, 'kubeconfig'),
    podAddresses: join(directory, 'pod-addresses'),
    staticIp: join(directory, 'static-ip', 'static-ip'),
  };
}
