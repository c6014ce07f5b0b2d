/**
 * The state of one service: `starting` until it is first found up; `running`; `failing` if it has ended, did
 * not come up or a rule of its monit file has failed; `unmonitored` if it is not monitored.
 */
export type ProcessState = 'starting' | 'running' | 'failing' | 'unmonitored';

/** The state of all jobs in get_state (bosh-agent: jobsupervisor/monit_job_supervisor.go, Status). */
export type JobState = 'running' | 'starting' | 'failing' | 'stopped' | 'unknown';

/**
 * Returns the state of the VM from the states of all services. Without services the VM is `running`, as with
 * monit.
 */
export function jobStateOf(states: readonly ProcessState[], isStopped: boolean): JobState {
  if (isStopped) return states.some((state) => state !== 'unmonitored') ? 'failing' : 'stopped';
  if (states.includes('starting')) return 'starting';
  return states.every((state) => state === 'running') ? 'running' : 'failing';
}
