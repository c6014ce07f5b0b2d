import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Manifest } from '../../bosh/manifest/manifest.ts';
import { loadManifest } from '../../bosh/manifest/load-manifest.ts';
import { type RestoredState, restoreState } from '../../deploy/state/restore-state.ts';
import { describeKeptDisk, desiredDisk } from '../../deploy/disk/plan-disk.ts';
import { ProductError } from '../../errors/product-error.ts';
import { oneLine } from '../../errors/text.ts';
import { Field } from '../../platform/field.ts';
import {
  parseRestoreArguments,
  type RestoreArguments,
  restoreFlags,
  restoreUsage,
} from '../args/state-arguments.ts';
import { assertRunning } from '../cluster/embedded-cluster.ts';
import { findDeploymentObjects } from '../cluster/find-deployment-objects.ts';
import { chooseKubeconfig, identifyCluster, kubeconfigPath, withKubernetes } from '../cluster/kubeconfig.ts';
import { withClusterVariables } from '../cluster/with-cluster-variables.ts';
import type { CommandContext } from '../command.ts';
import { envPorts } from '../env-ports.ts';
import { interruptible } from '../interruption.ts';
import { withLiveProgress } from '../output/with-progress.ts';
import { withSubCommands } from '../with-sub-commands.ts';

/** Commands for the state file of create-env (docs/day-two.md). */
export const state = withSubCommands({
  name: 'state',
  documentation: 'docs/day-two.md',
  summary: 'Restore the lost state file of a deployment',
  subCommands: [
    {
      name: 'restore',
      usage: restoreUsage,
      flags: restoreFlags,
      example: 'manifest.yml --vars-store creds.yml --kubeconfig ~/.kube/config',
      documentation: 'docs/day-two.md',
      summary: 'Write the lost state file of a deployment from its VM and its disk in the cluster',
      run: (args, context) => restore(parseRestoreArguments(args), context),
    },
  ],
});

async function restore(parsed: RestoreArguments, context: CommandContext): Promise<number> {
  const { installation, environment, terminal, secrets, signal } = context;
  const { kubeconfig: named } = parsed.kubernetes;
  const kubeconfig = await chooseKubeconfig(named, installation.clusterDirectory, environment);
  const embedded = resolve(kubeconfigPath(installation.clusterDirectory));
  const isEmbedded = kubeconfig.isEmbedded || resolve(kubeconfig.path) === embedded;
  if (kubeconfig.isEmbedded) await assertRunning(installation);
  // 'up' sets the same variables.
  const inputs = isEmbedded ? withClusterVariables(parsed.inputs, installation) : parsed.inputs;
  const { varsStorePath } = inputs;
  const { manifest } = await loadManifest({
    ...{ ...inputs, path: inputs.manifestPath, environment, keepsVarsStore: true, onSecrets: secrets.add },
  });
  assertNoContext(manifest);
  const restoring = restoreState(
    {
      ...{ ...parsed, manifest, signal, workspace: installation.workspace },
      ...{ manifestPath: inputs.manifestPath, statePath: inputs.statePath },
      findObjects: () =>
        withLiveProgress(terminal, 'Reading the cluster', () =>
          withKubernetes(
            kubeconfig.path,
            async (api, access) => {
              const namespaces = namespacesOf(parsed, manifest, access.namespace);
              const cluster = await identifyCluster(api, access, kubeconfig.path);
              return { cluster, ...(await findDeploymentObjects(api, namespaces)) };
            },
            { environment, signal, onSecrets: secrets.add },
          ),
        ),
    },
    envPorts(context),
  );
  const restored = await interruptible(restoring, signal, {
    result: 'No state file was written',
    next: 'run the same command again',
  });
  terminal.out(report(restored, manifest));
  if (restored.vm === undefined && !restored.mayListSecrets) terminal.error(withoutSecrets);
  if (varsStorePath !== undefined && !existsSync(varsStorePath))
    terminal.error(withoutCredentials(varsStorePath));
  return 0;
}

/** The VM of a context has another form of cid, and may be in another cluster than that of the manifest. */
function assertNoContext({ resourcePool, instanceGroup }: Manifest): void {
  const { context = instanceGroup.diskPool?.cloudProperties['context'] } = resourcePool.cloudProperties;
  if (context === undefined || context === null) return;
  throw new ProductError(
    'NOT_SUPPORTED',
    `'state restore' does not support the manifest's cloud_properties with the context ${oneLine(JSON.stringify(context))}. Write the state file ` +
      'by hand: current_vm_cid and the cid of the disk begin with the context and a colon',
  );
}

/** Returns the namespaces of the flags, otherwise those of the CPI in the manifest. */
function namespacesOf(
  { kubernetes: flags }: RestoreArguments,
  manifest: Manifest,
  ofKubeconfig: string,
): { readonly vms: string; readonly disks: string } {
  const properties = new Field(
    manifest.cloudProvider.properties,
    'cloud_provider.properties',
    'MANIFEST_INVALID',
  );
  const ofCpi = (key: string): string | undefined =>
    properties.get('kubernetes').get(key).optional()?.string();
  const vms = flags.namespace ?? ofCpi('namespace') ?? ofKubeconfig;
  return { vms, disks: flags['disk-namespace'] ?? ofCpi('disk_namespace') ?? vms };
}

function report(restored: RestoredState, manifest: Manifest): string {
  const { statePath, vm, disk } = restored;
  const desired = desiredDisk(manifest)?.size ?? 0;
  const withDisk = vm === undefined ? ' with this disk' : ' and keeps this disk';
  const ofDisk = disk === undefined || desired === 0 ? '' : withDisk;
  return [
    `VM    ${vm === undefined ? 'none; create-env creates it' : oneLine(vm.cid)}`,
    `Disk  ${disk === undefined ? 'none' : `${oneLine(disk.cid)}, ${disk.size} MiB`}`,
    ...describeOthers(restored),
    `Wrote '${statePath}'. What was deployed is not known, so the next create-env or up ` +
      `${vm === undefined ? 'creates a VM' : 'replaces this VM'}${ofDisk}.`,
    ...(disk === undefined ? [] : describeNextDisk(disk, desired)),
    '',
  ].join('\n');
}

function describeOthers({ vm, disk, otherVms, otherDisks }: RestoredState): readonly string[] {
  const { directorId } = vm ?? disk ?? {};
  return [
    ...otherVms.map((other) =>
      other.directorId === directorId
        ? `VM '${oneLine(other.cid)}' stays, and no state file names it; its Secret of the same name owns all its objects`
        : `VM '${oneLine(other.cid)}' stays; another state file has created it, perhaps that of another deployment with the same names`,
    ),
    ...otherDisks.map(
      ({ cid, isUnclaimed }) =>
        `Disk '${oneLine(cid)}' stays, and no state file names it${isUnclaimed ? '; it was never attached and has no data' : ''}`,
    ),
  ];
}

/** Returns what the next create-env does with the disk, if the manifest has another disk or none. */
function describeNextDisk(disk: NonNullable<RestoredState['disk']>, desiredMiB: number): readonly string[] {
  if (desiredMiB === 0) return [describeKeptDisk(disk)];
  if (desiredMiB === disk.size) return [];
  return [
    `The manifest has a disk of ${desiredMiB} MiB: create-env moves the data to a new disk of that size.`,
  ];
}

const withoutSecrets =
  'Warning: the kubeconfig does not allow listing Secrets, so a VM that has no pod was not looked for. If there is one, the next ' +
  "create-env does not delete it: 'bosh-kubernetes status' with a kubeconfig that may list Secrets shows it";

const withoutCredentials = (path: string): string =>
  `Warning: there is no vars store '${path}'. Restore it if you can. Otherwise the next create-env generates other credentials: ` +
  "it does not reach the VM's agent, so it deletes the VM without stopping its jobs, and the jobs get other passwords than those that " +
  'the data on the disk may need';
