import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { CreateEnvResult } from '../create-env.ts';
import type { TestEnvironment } from './test-environment.ts';

const program = join(import.meta.dirname, 'deploy-process.ts');

/**
 * Runs a deployer that is expected to be killed, by itself or through the process that `onStart` receives.
 */
export async function killedRun(
  { options, ports }: TestEnvironment,
  extra: object = {},
  onStart?: (deployer: ChildProcess) => void,
): Promise<void> {
  const child = spawn(process.execPath, [program, JSON.stringify({ ...options, ...extra })], {
    stdio: ['ignore', 'inherit', 'pipe'],
    env: ports.environment,
  });
  onStart?.(child);
  let output = '';
  child.stderr.on('data', (chunk) => (output += String(chunk)));
  const [code, signal] = await once(child, 'close');
  assert.equal(signal, 'SIGKILL', `the run ended with ${String(code)}: ${output}`);
}

/** Asserts that there is one VM and one disk, which is attached and mounted. */
export function assertConverged(
  { cloud, agent }: TestEnvironment,
  { vmCid, diskCid }: CreateEnvResult,
): void {
  assert.deepEqual(cloud.vms(), [vmCid]);
  assert.deepEqual(cloud.attachedDisks(), [diskCid]);
  assert.deepEqual(agent.mountedDisks, [diskCid]);
}

/** Resets the cloud to an empty one without the time that delete-env takes. The installed CPI stays. */
export async function forgetDeployment({ directory, options }: TestEnvironment): Promise<void> {
  for (const kind of ['vms', 'disks', 'stemcells'])
    await rm(join(directory, 'cloud', kind), { recursive: true, force: true });
  for (const suffix of ['', '.pending', '.lock']) await rm(`${options.statePath}${suffix}`, { force: true });
}

/** The faults that kill the caller of a CPI call. */
export const moments = ['kill-before', 'kill-after'] as const;
