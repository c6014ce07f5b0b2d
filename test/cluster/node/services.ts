import { join } from 'node:path';
import type { ClusterPaths } from '../cluster-paths.ts';
import { type Service, withGoSettings } from '../machine/machine.ts';
import { network, type NodePlan } from '../network.ts';
import { kubeletDirectory } from './configuration.ts';

/** The machine's containerd. Its containers survive it. */
export function containerdService(directory: string): Service {
  return {
    name: 'containerd',
    command: withGoSettings(['containerd', '--config', join(directory, 'containerd.toml')]),
    graceMs: 5000,
  };
}

export function kubeletService(
  programs: string,
  { pki }: ClusterPaths,
  plan: NodePlan,
  directory: string,
): Service {
  const command = [
    join(programs, 'kubelet'),
    `--config=${join(directory, 'kubelet.yaml')}`,
    `--kubeconfig=${join(pki, `${plan.name}.kubeconfig`)}`,
    `--root-dir=${kubeletDirectory}`,
    `--hostname-override=${plan.name}`,
    `--node-ip=${plan.address}`,
    `--node-labels=topology.kubernetes.io/zone=${plan.zone}`,
  ];
  return { name: 'kubelet', command: withGoSettings(command), graceMs: 5000 };
}

/**
 * The node's kube-proxy. Pods and their targets are in one network, so a response would bypass the node that
 * rewrote the request unless that node masquerades the source address: masquerade-all.
 */
export function kubeProxyService(programs: string, { pki }: ClusterPaths, plan: NodePlan): Service {
  const command = [
    join(programs, 'kube-proxy'),
    `--kubeconfig=${join(pki, 'kube-proxy.kubeconfig')}`,
    `--hostname-override=${plan.name}`,
    '--proxy-mode=iptables',
    '--masquerade-all',
    `--cluster-cidr=${network.subnet}`,
    // These are settings of the whole kernel.
    ...['--conntrack-max-per-core=0', '--conntrack-min=0'],
    ...['--conntrack-tcp-timeout-established=0s', '--conntrack-tcp-timeout-close-wait=0s'],
  ];
  return { name: 'kube-proxy', command: withGoSettings(command), graceMs: 5000 };
}
