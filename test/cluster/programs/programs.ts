import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { cacheDirectory } from './directory-cache.ts';

/** The versions of everything that the real cluster is built from, as the Go module proxy has them. */
export const pins = {
  kubernetes: '1.36.3',
  /** The staging modules of that version have their own versions and patch numbers. */
  staging: '0.36.3',
  etcd: '3.7.3',
  externalAttacher: '4.12.0',
  externalProvisioner: '6.3.0',
  externalResizer: '2.2.0',
  externalSnapshotter: '8.6.0',
} as const;

/** The version in the `go` lines of those modules. */
export const oldestGo = '1.26';

/**
 * The Debian 12 packages that the clusters have been run with, with upstream's versions. Debian fixes
 * packages without changing these.
 */
export const debianVersions = {
  containerd: '1.6.20',
  runc: '1.1.5',
  'containernetworking-plugins': '1.1.1',
  'docker-registry': '2.8.2',
} as const;

export interface Program {
  readonly package: string;
  /** Builds the package's tests as an executable instead of its main function. */
  readonly test?: true;
}

const [major, minor] = pins.kubernetes.split('.') as [string, string];

/** Stamped twice, as in upstream's build: for `--version`, and for the User-Agent that a server sees. */
const kubernetesStamps = Object.fromEntries(
  ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'].flatMap((name) => [
    [`${name}.gitVersion`, `v${pins.kubernetes}`],
    [`${name}.gitMajor`, major],
    [`${name}.gitMinor`, minor],
  ]),
);

const csi = 'github.com/kubernetes-csi';

/** The module with the CustomResourceDefinitions of snapshots. */
export const snapshotClient = `${csi}/external-snapshotter/client/v8`;

/**
 * Our own Go main module, in which all programs are built. A main module of upstream cannot be used because
 * of its `replace` lines. In one module, shared packages are compiled once and have the same versions
 * everywhere.
 */
export const goModule = {
  /** Each is `path@version`. */
  requires: [
    `k8s.io/kubernetes@v${pins.kubernetes}`,
    `go.etcd.io/etcd/server/v3@v${pins.etcd}`,
    `${csi}/external-attacher/v4@v${pins.externalAttacher}`,
    `${csi}/external-provisioner/v6@v${pins.externalProvisioner}`,
    `${csi}/external-resizer/v2@v${pins.externalResizer}`,
    `${csi}/external-snapshotter/v8@v${pins.externalSnapshotter}`,
    // Upstream replaces it with a directory, so no go.mod contains its version.
    `${snapshotClient}@v${pins.externalSnapshotter}`,
  ],
  /** Variables of packages that get their values at link time. */
  stamps: kubernetesStamps,
} as const;

const command = (name: string): Program => ({
  package: `k8s.io/kubernetes/cmd/${name}`,
});

export const programs = {
  'kube-apiserver': command('kube-apiserver'),
  'kube-controller-manager': command('kube-controller-manager'),
  'kube-scheduler': command('kube-scheduler'),
  'kube-proxy': command('kube-proxy'),
  kubelet: command('kubelet'),
  kubectl: command('kubectl'),
  etcd: { package: 'go.etcd.io/etcd/server/v3' },
  'csi-attacher': { package: `${csi}/external-attacher/v4/cmd/csi-attacher` },
  'csi-provisioner': { package: `${csi}/external-provisioner/v6/cmd/csi-provisioner` },
  'csi-resizer': { package: `${csi}/external-resizer/v2/cmd/csi-resizer` },
  'csi-snapshotter': { package: `${csi}/external-snapshotter/v8/cmd/csi-snapshotter` },
  'snapshot-controller': {
    package: `${csi}/external-snapshotter/v8/cmd/snapshot-controller`,
  },
  'e2e.test': { package: 'k8s.io/kubernetes/test/e2e', test: true },
  agnhost: { package: 'k8s.io/kubernetes/test/images/agnhost' },
} as const satisfies Record<string, Program>;

export type ProgramName = keyof typeof programs;

/** The programs that a cluster needs. The others are built on demand. */
export const clusterPrograms = [
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kubelet',
  'kube-proxy',
  'kubectl',
  'csi-attacher',
  'csi-provisioner',
  'csi-resizer',
  'csi-snapshotter',
  'snapshot-controller',
] as const satisfies readonly ProgramName[];

/**
 * Parses comma-separated names, as an operator writes them, or `cluster` for the programs that a cluster
 * needs. Throws for an unknown name.
 */
export function parseProgramNames(text: string): ProgramName[] {
  if (text === 'cluster') return [...clusterPrograms];
  return text.split(',').map((name) => {
    if (!Object.hasOwn(programs, name)) {
      throw new Error(`there is no program "${name}": ${Object.keys(programs).join(', ')}`);
    }
    return name as ProgramName;
  });
}

/** Returns the directory of the programs with these pins. */
export function programCache(environment: NodeJS.ProcessEnv = process.env): string {
  const key = createHash('sha256').update(JSON.stringify({ pins, goModule, programs, arch: process.arch }));
  return join(cacheDirectory('programs', environment), key.digest('hex').slice(0, 16));
}
