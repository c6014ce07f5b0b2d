import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { shapeOf } from '../../line/readme-screens.ts';
import { checkout } from '../../support/embedded-environment.ts';
import { runWell } from '../../support/run.ts';
import { network, nodePlans } from '../network.ts';
import type { RealCluster } from '../real-cluster.ts';

/** The page's names for parts of the cluster, and the names here. */
const settings = {
  STORAGE_CLASS: { page: 'standard', here: 'loop-wait' },
  NODE_ADDRESS: { page: '192.0.2.11', here: nodePlans[0]?.address ?? '' },
} as const;
const provisioner = { page: 'csi.example', here: 'loop.csi.bosh-kubernetes.test' };
/** Replacements for the page's fixed address: the network of the pods here. */
const podNetwork = {
  '10.88.0.7': '10.77.100.190',
  '10.88.0.0/16': network.subnet,
  '10.88.0.1': network.controlPlane,
};

/** A shell in which the commands of a page run. */
export interface OperatorShell {
  readonly run: (commands: readonly string[]) => Promise<string[]>;
  /** Returns the part of the output that is the same in each run, with the page's names. */
  readonly shapeOf: (output: string) => string;
}

/** Returns a command of a page with the names of this cluster. */
export function withNamesHere(command: string): string {
  const [, setting = ''] = /^(\w+)=/u.exec(command) ?? [];
  if (setting === 'STORAGE_CLASS' || setting === 'NODE_ADDRESS') {
    const { page, here } = settings[setting];
    assert.equal(command, `${setting}=${page}`);
    return `${setting}=${here}`;
  }
  if (setting !== 'WAY') return command;
  return Object.entries(podNetwork).reduce((text, [page, here]) => text.replaceAll(page, here), command);
}

/** Returns the environment of an operator with that home directory, who administers the cluster. */
export const operatorEnvironment = (cluster: RealCluster, home: string): Record<string, string> => ({
  PATH: `${dirname(cluster.kubectl)}:${process.env['PATH'] ?? ''}`,
  ...{ HOME: home, LANG: 'C.UTF-8', TMPDIR: tmpdir(), KUBECONFIG: cluster.layout.kubeconfig },
  // All suites share the roots of stemcells, and no mirror is reachable from here.
  XDG_CACHE_HOME: process.env['XDG_CACHE_HOME'] ?? join(process.env['HOME'] ?? '', '.cache'),
});

/** Removes the namespace and the roles of manifests/rbac, which a failed run leaves. */
export async function removeRoles({ kubectl, layout }: RealCluster): Promise<void> {
  const rbac = join(checkout, 'manifests', 'rbac');
  await runWell([kubectl, '--kubeconfig', layout.kubeconfig, 'delete', '-k', rbac, '--ignore-not-found']);
}

/** Replaces everything that differs between runs and between clusters. */
export function shapeOnPage(output: string, home: string): string {
  const names: readonly (readonly [string, string])[] = [
    [checkout, '/home/you/bosh-kubernetes'],
    [home, '/home/you'],
    [provisioner.here, provisioner.page],
    ...Object.values(settings).map(({ here, page }) => [here, page] as const),
  ];
  const named = names.reduce((text, [here, page]) => text.replaceAll(here, page), output);
  return shapeOf(named)
    .replaceAll(/1\.0\.0-[0-9a-f]{12}/gu, 'VERSION')
    .replaceAll(/\b10(?:\.\d+){3}\b/gu, 'ADDRESS')
    .replaceAll(/\bnode-\d\b/gu, 'NODE')
    .replaceAll(/(?<= )(?:\d+[dhms])+(?= |$)/gmu, 'AGE')
    .replaceAll(/ {2,}/gu, '  ');
}
