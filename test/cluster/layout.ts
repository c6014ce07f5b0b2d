import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

/** Where a test cluster keeps what it has. */
export interface Layout {
  readonly name: string;
  readonly directory: string;
  readonly pki: string;
  /** An administrator's. */
  readonly kubeconfig: string;
  /** Of what host-local gave out: one folder for all nodes, so that an address is given once in the cluster. */
  readonly podAddresses: string;
  /** The CNI plugin, where this machine can build it. */
  readonly staticIp: string;
}

/** The clusters that suites of one name run on: of the second and third they trouble the nodes. */
export const clusterNames = (name: string): readonly string[] => [name, `${name}-2`, `${name}-3`];

export function layoutOf(name: string, environment: NodeJS.ProcessEnv = process.env): Layout {
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
