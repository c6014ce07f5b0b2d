import { isProductError } from '../../errors/product-error.ts';
import { withContext } from '../../platform/error-chain.ts';
import { isCpiError } from '../cpi/cpi-runner.ts';
import { newAgentBudget, waitForAgent } from '../instance/wait-for-agent.ts';
import type { Run } from '../session.ts';
import type { Stage, Step } from '../stage/stage.ts';
import type { DiskRecord } from '../state/deployment-state.ts';
import { forgetDisk, makeDiskCurrent, recordDisk } from '../state/state-changes.ts';
import { rfc3339 } from '../vm/vm-specification.ts';
import { planDisk, type DiskPlan, type DesiredDisk } from './plan-disk.ts';

export interface DiskTarget {
  readonly vmCid: string;
  readonly desired: DesiredDisk | undefined;
  /**
   * Moves the content of the current disk to a new one, even if the new disk has the same size and
   * properties.
   */
  readonly recreate: boolean;
  readonly metadata: Readonly<Record<string, string>>;
}

/**
 * Creates, attaches and mounts the persistent disk and deletes unused disks. Returns the cid of the attached
 * disk.
 */
export async function deployDisk(run: Run, stage: Stage, target: DiskTarget): Promise<string | undefined> {
  const plan = planDisk(run.state.state, target.desired, target.recreate);
  if (plan.action === 'none') return undefined;
  const disk = await ensureDisk(run, stage, target, plan);
  await deleteUnusedDisks(run, stage);
  return disk.cid;
}

async function ensureDisk(
  run: Run,
  stage: Stage,
  target: DiskTarget,
  plan: Exclude<DiskPlan, { action: 'none' }>,
): Promise<DiskRecord> {
  switch (plan.action) {
    case 'attach':
      return attachAsCurrent(run, stage, target, plan.disk);
    case 'create':
      return attachAsCurrent(run, stage, target, await createStage(run, stage, target, plan.desired));
    case 'migrate':
      return migrate(run, stage, target, plan);
  }
}

async function attachAsCurrent(
  run: Run,
  stage: Stage,
  target: DiskTarget,
  disk: DiskRecord,
): Promise<DiskRecord> {
  await attachStage(run, stage, target, disk);
  if (run.state.state.current_disk_id !== disk.id) await run.state.change(makeDiskCurrent(disk.id));
  return disk;
}

/**
 * Attaches both disks, lets the agent copy the content, and then makes the new disk the current one (bosh-cli
 * deployment/vm/disk_deployer.go). If a run ends before that, the old disk is still current and complete, and
 * the next run starts again with another new disk. If it ends after that, the next run deletes the old disk.
 */
async function migrate(
  run: Run,
  stage: Stage,
  target: DiskTarget,
  { disk: old, desired: requested }: Extract<DiskPlan, { action: 'migrate' }>,
): Promise<DiskRecord> {
  await attachStage(run, stage, target, old);
  const disk = await createStage(run, stage, target, requested);
  await attachStage(run, stage, target, disk);
  await stage.perform(`Migrating content from disk '${old.cid}' to disk '${disk.cid}'`, () =>
    withContext('Migrating disk', () => run.agent.migrateDisk()),
  );
  await run.state.change(makeDiskCurrent(disk.id));
  await stage.perform(`Detaching disk '${old.cid}'`, () => detachDisk(run, old.cid, target));
  await stage.perform(`Deleting disk '${old.cid}'`, (step) => deleteDisk(run, old, step));
  return disk;
}

const createStage = (run: Run, stage: Stage, target: DiskTarget, desired: DesiredDisk): Promise<DiskRecord> =>
  stage.perform('Creating disk', () => createDisk(run, desired, target.vmCid));

const attachStage = (run: Run, stage: Stage, target: DiskTarget, disk: DiskRecord): Promise<void> =>
  stage.perform(`Attaching disk '${disk.cid}' to VM '${target.vmCid}'`, () =>
    attachDisk(run, disk.cid, target),
  );

/**
 * Records the request before it calls the CPI, so that a disk whose response was lost is at least known to be
 * missing.
 */
async function createDisk(
  run: Run,
  { size, cloudProperties }: DesiredDisk,
  vmCid: string,
): Promise<DiskRecord> {
  const id = run.uuid();
  await run.pending.addDisk({
    id,
    size,
    vm_cid: vmCid,
    requested_at: new Date(run.clock.now()).toISOString(),
  });
  const cid = await withContext(`Creating disk with size ${size}, instanceID ${vmCid}`, () =>
    run.cloud.createDisk(size, cloudProperties, vmCid),
  ).catch(async (error: unknown) => {
    if (isCpiError(error)) await run.pending.removeDisk(id);
    throw error;
  });
  const record = { id, cid, size, cloud_properties: cloudProperties };
  await run.state.change(recordDisk(record));
  await run.pending.removeDisk(id);
  return record;
}

async function attachDisk(run: Run, cid: string, { vmCid, metadata }: DiskTarget): Promise<void> {
  const { cloud, agent, clock } = run;
  const hint = await withContext('Attaching disk in the cloud', () => cloud.attachDisk(vmCid, cid));
  await withContext(`Setting disk metadata for ${cid}`, () =>
    cloud.setDiskMetadata(cid, { ...metadata, attached_at: rfc3339(clock.now()) }),
  );
  await withContext('Waiting for agent to be accessible after attaching disk', () =>
    waitForAgent(run, newAgentBudget),
  );
  if (hint !== null && hint !== undefined) {
    await withContext('Adding persistent disk', () => agent.addPersistentDisk(cid, hint));
  }
  await withContext('Mounting disk', () => agent.mountDisk(cid));
}

/**
 * Removes the disk from the agent first, and then waits for the agent, because a CPI may have recreated the
 * VM without the disk.
 */
async function detachDisk(run: Run, cid: string, { vmCid }: DiskTarget): Promise<void> {
  await withContext('Removing persistent disk', () => run.agent.removePersistentDisk(cid));
  await withContext('Detaching disk in the cloud', () => run.cloud.detachDisk(vmCid, cid));
  await withContext('Waiting for agent to be accessible after detaching disk', () =>
    waitForAgent(run, newAgentBudget),
  );
}

/** Deletes every recorded disk that is not the current one. */
export async function deleteUnusedDisks(run: Run, stage: Stage): Promise<void> {
  const { disks, current_disk_id: current } = run.state.state;
  for (const disk of disks.filter(({ id }) => id !== current)) {
    await stage.perform(`Deleting unused disk '${disk.cid}'`, (step) => deleteDisk(run, disk, step));
  }
}

async function deleteDisk(run: Run, { id, cid }: DiskRecord, step: Step): Promise<void> {
  await run.cloud.deleteDisk(cid).catch((error: unknown) => {
    if (!isProductError(error, 'DISK_NOT_FOUND')) throw error;
    step.skip('Disk Not Found');
  });
  await run.state.change(forgetDisk(id));
}
