import { met, unmet, type Finding, type Requirement } from './finding.ts';
import type { Attempt, ProbeReport } from './probe-report.ts';
import { kernelParameters } from './probe-script.ts';

type KernelParameter = (typeof kernelParameters)[number];

const failed = 'failed' as const;
const warning = 'warning' as const;

/** A Diego cell runs in a VM of the profile privileged. */
export const cellPod: Requirement = {
  ...{ check: 'VM of profile privileged', neededBy: 'every Diego cell', otherwise: failed },
  remedy: 'remove the cause that the details name, and run this again',
};

const stemcell: Requirement = {
  ...{ check: 'Programs of the stemcell', neededBy: 'this probe', otherwise: failed },
  remedy: "use a stemcell of 'bosh-kubernetes stemcell build --from-debian --profile privileged'",
};

const xfs: Requirement = {
  ...{ check: 'XFS with project quotas', neededBy: 'grootfs: the disk quotas of apps', otherwise: failed },
  remedy: 'load the module xfs on the node (modprobe xfs), or use nodes whose kernel has CONFIG_XFS_QUOTA',
};

/** Parts of a layout that need more of a node than every layout does: the attempts that must then work. */
const partAttempts = {
  vxlan: ['vxlan'],
  'volume-services': ['fuse', 'nfs', 'cifs'],
  'ubuntu-noble': ['dummy'],
} as const;

export type FoundryPart = keyof typeof partAttempts;
export const foundryParts = Object.keys(partAttempts) as FoundryPart[];

/** Requirements by the name of the attempt, in the order of the table. */
const features: readonly (readonly [attempt: string, Requirement])[] = [
  [
    'loop',
    {
      ...{ check: 'Loop devices', neededBy: 'grootfs: its store is a file', otherwise: failed },
      remedy: 'load the module loop on the node (modprobe loop)',
    },
  ],
  ['xfs-quota', xfs],
  [
    'shared-mounts',
    {
      ...{ check: 'Shared mounts', neededBy: 'rep: folders that it shares with Garden', otherwise: failed },
      remedy: 'allow privileged containers of this container runtime to change the propagation of mounts',
    },
  ],
  [
    'overlay',
    {
      ...{ check: 'Overlay', neededBy: 'grootfs: the file systems of apps', otherwise: failed },
      remedy: 'load the module overlay on the node (modprobe overlay)',
    },
  ],
  [
    'nested-container',
    {
      ...{ check: 'Nested container with its own cgroup', neededBy: 'Garden and bpm', otherwise: failed },
      remedy:
        'use nodes with user namespaces (user.max_user_namespaces above 0) and the cgroup controllers memory and pids',
    },
  ],
  [
    'cgroups',
    {
      ...{ check: 'Cgroup version', neededBy: 'Garden and bpm', otherwise: failed },
      remedy: 'use nodes with cgroup v2, or with v1 and its memory controller',
    },
  ],
  [
    'apparmor',
    {
      ...{ check: 'AppArmor', neededBy: 'Garden with its AppArmor profile', otherwise: warning },
      remedy: 'nothing, with garden-containerd.yml or garden-runc.yml of manifests/cf-deployment',
    },
  ],
  [
    'dummy',
    {
      ...{ check: 'Link dummy', neededBy: 'the addon bosh-dns-systemd, on Ubuntu noble', otherwise: warning },
      remedy: 'load the module dummy on the node (modprobe dummy); a Debian stemcell does not need it',
    },
  ],
  [
    'vxlan',
    {
      ...{ check: 'Link vxlan', neededBy: 'silk, without one-cell.yml', otherwise: warning },
      remedy:
        'load the module vxlan on the node (modprobe vxlan), or use manifests/cf-deployment/one-cell.yml',
    },
  ],
  [
    'veth',
    {
      ...{ check: 'Link veth', neededBy: "Garden's network and silk: each app", otherwise: failed },
      remedy: 'load the module veth on the node (modprobe veth)',
    },
  ],
  [
    'ifb',
    {
      ...{ check: 'Link ifb', neededBy: 'silk with limits of bandwidth', otherwise: warning },
      remedy: 'load the module ifb on the node (modprobe ifb), or set no bandwidth limits for silk-cni',
    },
  ],
  [
    'transparent_hugepage',
    {
      ...{ check: 'transparent_hugepage', otherwise: warning },
      neededBy: 'Garden sets it to madvise, for the whole node',
      remedy: 'nothing: Garden also starts if it cannot write it',
    },
  ],
  [
    'fuse',
    {
      ...{ check: 'FUSE', neededBy: 'the NFS volume service, with mapped users', otherwise: warning },
      remedy: 'load the module fuse on the node (modprobe fuse)',
    },
  ],
  [
    'nfs',
    {
      ...{ check: 'NFS', neededBy: 'the NFS volume service', otherwise: warning },
      remedy: 'load the module nfsv4 on the node (modprobe nfsv4)',
    },
  ],
  [
    'cifs',
    {
      ...{ check: 'CIFS', neededBy: 'the SMB volume service', otherwise: warning },
      remedy: 'load the module cifs on the node (modprobe cifs)',
    },
  ],
];

const writable = 'let privileged pods write it: see the policies and the container runtime of the node';

/** Jobs that do not start if they cannot write the parameter. */
const always = (neededBy: string): Omit<Requirement, 'check'> => ({
  ...{ neededBy, otherwise: failed, remedy: writable },
});

/** Jobs that do not write the parameter if a property is set. */
const optional = (jobs: string): Omit<Requirement, 'check'> => ({
  neededBy: `${jobs}, without kernel-parameters.yml`,
  ...{ otherwise: warning, remedy: 'use manifests/cf-deployment/kernel-parameters.yml' },
});

const rep = optional('rep');
const gorouter = optional('gorouter');
const network = optional('rep, bbs, locket, file_server and gorouter');

const parameters: Readonly<Record<KernelParameter, Omit<Requirement, 'check'>>> = {
  'vm.overcommit_memory': always('valkey sets it to 1, for the whole node'),
  'kernel.dmesg_restrict': always('Garden sets it to 1, for the whole node'),
  // each pid namespace has its own since Linux 6.14
  'kernel.pid_max': always('Garden sets it to 4194304, before Linux 6.14 for the whole node'),
  'kernel.shmmax': {
    ...{ neededBy: 'postgres, with use-postgres.yml', otherwise: warning },
    remedy: 'use pxc, or let privileged pods write it',
  },
  'kernel.core_pattern': optional('cloud_controller_ng, for the whole node'),
  'net.ipv4.tcp_fin_timeout': network,
  'net.ipv4.tcp_tw_reuse': network,
  'net.netfilter.nf_conntrack_max': rep,
  'fs.inotify.max_user_watches': rep,
  'fs.inotify.max_user_instances': rep,
  'fs.inotify.max_queued_events': rep,
  'net.ipv4.ip_local_port_range': gorouter,
  'net.ipv4.ip_local_reserved_ports': gorouter,
  'net.core.somaxconn': gorouter,
};

/** The names of all attempts that the rows need. */
export const attempts: readonly string[] = [
  ...['tools', 'xfs', ...features.map(([name]) => name)],
  ...kernelParameters,
];

/**
 * Returns the rows of a node for the report of its probe, all checks in the order of the table. A check that
 * one of the parts needs has failed if it is not met.
 */
export function cloudFoundryFindings(
  node: string,
  report: ProbeReport,
  parts: readonly FoundryPart[] = [],
): Finding[] {
  const needed: readonly string[] = parts.flatMap((part) => partAttempts[part]);
  return [
    met(cellPod, node, 'it runs'),
    judge(stemcell, node, report.get('tools'), 'it has them'),
    ...features.map(([name, requirement]) =>
      name === 'xfs-quota'
        ? xfsFinding(node, report)
        : judge(
            needed.includes(name) ? { ...requirement, otherwise: failed } : requirement,
            ...([node, report.get(name), 'it works'] as const),
          ),
    ),
    ...Object.entries(parameters).map(([name, requirement]) =>
      parameterFinding({ check: name, ...requirement }, node, report.get(name)),
    ),
  ];
}

function judge(
  requirement: Requirement,
  node: string,
  attempt: Attempt | undefined,
  working: string,
): Finding {
  if (attempt === undefined) return unmet(requirement, node, 'the probe ended before it tried this');
  const { isPossible, text } = attempt;
  if (isPossible) return met(requirement, node, text === '' ? working : text);
  return unmet(requirement, node, text === '' ? 'the kernel does not have it, or it is not enabled' : text);
}

/** The probe can mount XFS only from a loop device. */
function xfsFinding(node: string, report: ProbeReport): Finding {
  const quota = report.get('xfs-quota');
  if (quota?.isPossible === true || quota === undefined) return judge(xfs, node, quota, 'it works');
  if (report.get('loop')?.isPossible !== true) {
    const remedy = 'load the module loop on the node, and run this again';
    return unmet({ ...xfs, otherwise: warning, remedy }, node, 'not tried, because there is no loop device');
  }
  if (report.get('xfs')?.isPossible === true)
    return unmet(xfs, node, 'XFS works, but without project quotas: the kernel has no CONFIG_XFS_QUOTA');
  return judge(xfs, node, report.get('xfs'), '');
}

/** Shows the present value of the parameter, because a job that writes it changes it. */
function parameterFinding(requirement: Requirement, node: string, attempt: Attempt | undefined): Finding {
  if (attempt === undefined || attempt.isPossible) return judge(requirement, node, attempt, 'empty');
  const { text } = attempt;
  const detail = text.includes('No such file') ? 'it does not exist' : `'${text}', which cannot be written`;
  return unmet(requirement, node, detail);
}
