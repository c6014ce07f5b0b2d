import { withContext } from '../../platform/error-chain.ts';
import { deployDisk } from '../disk/deploy-disk.ts';
import { wantedDisk } from '../disk/plan-disk.ts';
import type { Run } from '../session.ts';
import type { Stage } from '../stage/stage.ts';
import type { StemcellRecord } from '../state/deployment-state.ts';
import type { ValidDeployment } from '../validate/validate-deployment.ts';
import { createVm } from '../vm/create-vm.ts';
import { deleteCurrentVm } from '../vm/delete-vm.ts';
import { diskMetadata, vmMetadata, vmSpecification } from '../vm/vm-specification.ts';
import { deployJobs } from './deploy-jobs.ts';
import type { TemplatesToRender } from './render-templates.ts';
import { waitForExpectedAgent } from './verify-agent.ts';
import { newAgentBudget, waitForAgent } from './wait-for-agent.ts';

export interface Replacement {
  readonly valid: ValidDeployment;
  readonly templates: TemplatesToRender;
  /** The stemcell that the VM is created from. */
  readonly record: StemcellRecord;
  readonly skipDrain: boolean;
  readonly recreatePersistentDisks: boolean;
}

/**
 * Deletes the old VM, creates the new one, moves the disk and starts the jobs. There is no update in place.
 * Returns the instance's address.
 */
export async function replaceInstance(
  run: Run,
  stage: Stage,
  replacement: Replacement,
): Promise<string | undefined> {
  const { valid, templates, record, skipDrain } = replacement;
  const { manifest } = valid;
  const instance = `${manifest.instanceGroup.name}/0`;
  const diskCids = run.state.state.disks.map(({ cid }) => cid);
  await withContext(`Deleting existing instance '${instance}'`, () =>
    deleteCurrentVm(run, stage, { instance, skipDrain }),
  );
  await withContext(`Creating instance '${instance}'`, async () => {
    const vmCid = await createInstanceVm(run, stage, replacement, diskCids);
    await withContext('Updating instance disks', () =>
      deployDisk(run, stage, {
        ...{ vmCid, wanted: wantedDisk(manifest), metadata: diskMetadata(manifest) },
        recreate: replacement.recreatePersistentDisks,
      }),
    );
  });
  const stemcell = `${record.name}/${record.version}`;
  return deployJobs(run, stage, { ...templates, stemcell });
}

async function createInstanceVm(
  run: Run,
  stage: Stage,
  { valid: { manifest }, record }: Replacement,
  diskCids: readonly string[],
): Promise<string> {
  const instance = `${manifest.instanceGroup.name}/0`;
  const { cid: vmCid, agentId } = await stage.perform(
    `Creating VM for instance '${instance}' from stemcell '${record.cid}'`,
    () =>
      withContext('Creating VM', async () => {
        const vm = await createVm(run, vmSpecification(manifest, record, diskCids));
        await withContext('Setting VM metadata', () =>
          run.cloud.setVmMetadata(vm.cid, vmMetadata(manifest, run.clock.now())),
        );
        return vm;
      }),
  );
  await withContext('Waiting until instance is ready', () =>
    stage.perform(`Waiting for the agent on VM '${vmCid}' to be ready`, async () => {
      await waitForAgent(run, newAgentBudget, { cloud: run.cloud, vmCid });
      await waitForExpectedAgent(run, { vmCid, agentId, mbus: manifest.cloudProvider.mbus });
    }),
  );
  return vmCid;
}
