import { join } from 'node:path';
import { pauseImage } from '../image/images.ts';
import type { ClusterPaths } from '../cluster-paths.ts';
import { network, type NodePlan } from '../network.ts';

export const containerdSocket = '/run/containerd/containerd.sock';
export const kubeletDirectory = '/var/lib/kubelet';

/** Returns containerd's configuration in version 2, which 1.6 and later read. */
export function containerdConfiguration(root = '/var/lib/containerd'): string {
  return `version = 2
root = "${root}"
state = "/run/containerd"
disabled_plugins = [
  "io.containerd.snapshotter.v1.aufs",
  "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.zfs",
]

[grpc]
  address = "${containerdSocket}"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${pauseImage}"
  # root without CAP_SYS_RESOURCE cannot lower a score, and every sandbox would fail
  restrict_oom_score_adj = true

[plugins."io.containerd.grpc.v1.cri".containerd]
  snapshotter = "overlayfs"
  default_runtime_name = "runc"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
  SystemdCgroup = false

[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "/opt/cni/bin"
  conf_dir = "/etc/cni/net.d"

[plugins."io.containerd.grpc.v1.cri".registry]
  config_path = "/etc/containerd/certs.d"
`;
}

/**
 * Returns the kubelet's configuration. It reserves, evicts and collects nothing on a machine with other
 * users.
 */
export function kubeletConfiguration(
  { pki }: ClusterPaths,
  { name, address }: NodePlan,
  cgroup: string,
): unknown {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    address,
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: join(pki, 'ca.crt') },
    },
    authorization: { mode: 'Webhook' },
    tlsCertFile: join(pki, `${name}-server.crt`),
    tlsPrivateKeyFile: join(pki, `${name}-server.key`),
    containerRuntimeEndpoint: `unix://${containerdSocket}`,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: `/${cgroup}`,
    failCgroupV1: false,
    failSwapOn: false,
    enforceNodeAllocatable: [],
    evictionHard: {
      'memory.available': '1%',
      'nodefs.available': '1%',
      'nodefs.inodesFree': '1%',
      'imagefs.available': '1%',
    },
    // Images are imported by the tests, so a collected image would never come back.
    imageGCHighThresholdPercent: 100,
    clusterDomain: 'cluster.local',
    clusterDNS: [network.dns],
    registerNode: true,
    // volumesInUse is reported with the status. With the default of 10 s each attach and detach would wait
    // for it.
    nodeStatusUpdateFrequency: '1s',
    // Without it every status would be written, two per second for two idle nodes. A change is written at
    // once.
    nodeStatusReportFrequency: '5m',
    // The lease is renewed every 4 s, because the controller-manager also considers a node lost earlier than
    // by default (services.ts).
    nodeLeaseDurationSeconds: 16,
    shutdownGracePeriod: '0s',
  };
}
