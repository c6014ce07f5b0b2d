import { stopJobs } from './instance/shut-down-instance.ts';
import type { EnvOptions, EnvPorts } from './options.ts';
import { withAgent } from './with-agent.ts';

/**
 * Stops the jobs of the deployed VM. VM and disks stay, and the disks stay mounted. For errors see withAgent.
 */
export async function stopEnv(options: EnvOptions, ports: EnvPorts): Promise<void> {
  const skipDrain = options.skipDrain === true;
  await withAgent(options, ports, {
    name: 'stopping deployment',
    action: (run, stage) => stopJobs(run, stage, { instance: 'unknown/0', skipDrain }),
  });
}
