import { pins } from './pins.ts';

export interface Program {
  readonly package: string;
  /** The package's tests as an executable instead of its main function. */
  readonly test?: true;
}

const [major, minor] = pins.kubernetes.split('.') as [string, string];

/** Stamped twice, as upstream's build does: for `--version`, and for the User-Agent that a server sees. */
const kubernetesStamps = Object.fromEntries(
  ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'].flatMap((name) => [
    [`${name}.gitVersion`, `v${pins.kubernetes}`],
    [`${name}.gitMajor`, major],
    [`${name}.gitMinor`, minor],
  ]),
);

const csi = 'github.com/kubernetes-csi';

/** The module with the definitions of snapshots. */
export const snapshotClient = `${csi}/external-snapshotter/client/v8`;

/**
 * The Go main module of our own that all programs are built in: one of another's may not be, for its `replace` lines, and
 * in one module what the programs share is compiled once, with the same version of everything.
 */
export const goModule = {
  /** `path@version`. */
  requires: [
    `k8s.io/kubernetes@v${pins.kubernetes}`,
    `go.etcd.io/etcd/server/v3@v${pins.etcd}`,
    `${csi}/external-attacher/v4@v${pins.externalAttacher}`,
    `${csi}/external-resizer/v2@v${pins.externalResizer}`,
    `${csi}/external-snapshotter/v8@v${pins.externalSnapshotter}`,
    // upstream replaces it with a folder, so its version is in no go.mod
    `${snapshotClient}@v${pins.externalSnapshotter}`,
  ],
  /** Variables of packages that get a value at link time. */
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
  'csi-resizer': { package: `${csi}/external-resizer/v2/cmd/csi-resizer` },
  'csi-snapshotter': { package: `${csi}/external-snapshotter/v8/cmd/csi-snapshotter` },
  'snapshot-controller': {
    package: `${csi}/external-snapshotter/v8/cmd/snapshot-controller`,
  },
  'e2e.test': { package: 'k8s.io/kubernetes/test/e2e', test: true },
  agnhost: { package: 'k8s.io/kubernetes/test/images/agnhost' },
} as const satisfies Record<string, Program>;

export type ProgramName = keyof typeof programs;

/** What a cluster needs; the others are built when they are asked for. */
export const clusterPrograms = [
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kubelet',
  'kube-proxy',
  'kubectl',
  'csi-attacher',
  'csi-resizer',
  'csi-snapshotter',
  'snapshot-controller',
] as const satisfies readonly ProgramName[];

/** Comma-separated names, as an operator writes them, or `cluster` for what a cluster needs. Throws for one that there is not. */
export function parseProgramNames(text: string): ProgramName[] {
  if (text === 'cluster') return [...clusterPrograms];
  return text.split(',').map((name) => {
    if (!Object.hasOwn(programs, name)) {
      throw new Error(`there is no program "${name}": ${Object.keys(programs).join(', ')}`);
    }
    return name as ProgramName;
  });
}
