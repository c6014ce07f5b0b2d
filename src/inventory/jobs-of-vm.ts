import { fullName } from './bosh-name.ts';
import type { VmItem } from './inventory.ts';
import type { Problem } from './problem.ts';

/** The state of a VM's jobs, as its agent reports it. */
export interface JobsOfVm {
  /** The cid of the VM. */
  readonly vm: string;
  /** The job state as `bosh instances` shows it; undefined if it is not known. */
  readonly state: string | undefined;
  /** Why the state is not known. */
  readonly reason?: string;
}

/** Returns a problem if the jobs of the VM do not run. Its next step is one of create-env and `up`. */
export function jobsProblems({ cid, name }: VmItem, { state }: JobsOfVm): Problem[] {
  if (state === undefined || state === 'running') return [];
  const isStopped = state === 'stopped';
  return [
    {
      ...{ kind: 'VM', object: cid, name: fullName(name), severity: isStopped ? 'info' : 'error' },
      problem: `the state of its jobs is '${state}'`,
      next: isStopped
        ? 'start them: bosh-kubernetes start-env, with the manifest and the flags of the deployment'
        : 'read their logs: bosh-kubernetes logs, with the manifest',
    },
  ];
}
