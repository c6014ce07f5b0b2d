import { join } from 'node:path';
import type { ClusterPaths } from '../cluster-paths.ts';
import { type Service, withGoSettings } from '../machine/machine.ts';
import { network } from '../network.ts';

/** Formats flags as `--name=value`, one per element. */
function flags(entries: Readonly<Record<string, string | number | boolean>>): string[] {
  return Object.entries(entries).map(([name, value]) => `--${name}=${value}`);
}

const etcdAddress = 'http://127.0.0.1:2379';

/**
 * etcd, only for the loopback interface of this namespace. It runs without fsync, because a test cluster does
 * not outlive a power loss.
 */
export function etcdService(programs: string, layout: ClusterPaths): Service {
  const command = flags({
    name: 'etcd',
    'data-dir': join(layout.directory, 'etcd'),
    'listen-client-urls': etcdAddress,
    'advertise-client-urls': etcdAddress,
    'listen-peer-urls': 'http://127.0.0.1:2380',
    'unsafe-no-fsync': true,
    'log-level': 'warn',
  });
  return { name: 'etcd', command: withGoSettings([join(programs, 'etcd'), ...command]), graceMs: 5000 };
}

/** The API server with the default admission plugins. It shuts down slowly after SIGTERM, so it is killed. */
export function apiServerService(programs: string, { pki }: ClusterPaths): Service {
  const file = (name: string): string => join(pki, name);
  const command = flags({
    'advertise-address': network.controlPlane,
    'bind-address': '0.0.0.0',
    'secure-port': 6443,
    'etcd-servers': etcdAddress,
    'service-cluster-ip-range': network.services,
    'service-account-issuer': 'https://kubernetes.default.svc.cluster.local',
    'service-account-key-file': file('sa.pub'),
    'service-account-signing-key-file': file('sa.key'),
    'client-ca-file': file('ca.crt'),
    'tls-cert-file': file('apiserver.crt'),
    'tls-private-key-file': file('apiserver.key'),
    'kubelet-certificate-authority': file('ca.crt'),
    'kubelet-client-certificate': file('apiserver-kubelet-client.crt'),
    'kubelet-client-key': file('apiserver-kubelet-client.key'),
    // Without it logs and exec resolve the node's name.
    'kubelet-preferred-address-types': 'InternalIP',
    'requestheader-client-ca-file': file('front-proxy-ca.crt'),
    'requestheader-allowed-names': 'front-proxy-client',
    'requestheader-extra-headers-prefix': 'X-Remote-Extra-',
    'requestheader-group-headers': 'X-Remote-Group',
    'requestheader-username-headers': 'X-Remote-User',
    'proxy-client-cert-file': file('front-proxy-client.crt'),
    'proxy-client-key-file': file('front-proxy-client.key'),
    'authorization-mode': 'Node,RBAC',
    'enable-admission-plugins': 'NodeRestriction',
    'allow-privileged': true,
    profiling: false,
  });
  return {
    name: 'kube-apiserver',
    command: withGoSettings([join(programs, 'kube-apiserver'), ...command]),
    graceMs: 0,
  };
}

/** The upstream controllers, without a volume provisioner. */
export function controllerManagerService(programs: string, { pki }: ClusterPaths): Service {
  const command = flags({
    kubeconfig: join(pki, 'kube-controller-manager.kubeconfig'),
    'authentication-kubeconfig': join(pki, 'kube-controller-manager.kubeconfig'),
    'authorization-kubeconfig': join(pki, 'kube-controller-manager.kubeconfig'),
    'service-account-private-key-file': join(pki, 'sa.key'),
    'root-ca-file': join(pki, 'ca.crt'),
    'use-service-account-credentials': true,
    'leader-elect': false,
    // This is how long tests wait for a lost node. The default is 50 s.
    'node-monitor-grace-period': '20s',
    'node-monitor-period': '2s',
    ...{ 'kube-api-qps': 100, 'kube-api-burst': 200 },
    'bind-address': '127.0.0.1',
    profiling: false,
  });
  const program = join(programs, 'kube-controller-manager');
  return { name: 'kube-controller-manager', command: withGoSettings([program, ...command]), graceMs: 5000 };
}

export function schedulerService(programs: string, { pki }: ClusterPaths): Service {
  const command = flags({
    kubeconfig: join(pki, 'kube-scheduler.kubeconfig'),
    'authentication-kubeconfig': join(pki, 'kube-scheduler.kubeconfig'),
    'authorization-kubeconfig': join(pki, 'kube-scheduler.kubeconfig'),
    'leader-elect': false,
    'bind-address': '127.0.0.1',
    profiling: false,
  });
  return {
    name: 'kube-scheduler',
    command: withGoSettings([join(programs, 'kube-scheduler'), ...command]),
    graceMs: 5000,
  };
}
