/**
 * What the supervisor knows of one service: `starting` until it is first found up, `running`, `failing` when
 * it has ended, did not come up or a rule of its monit file has failed, `unmonitored` when it is not watched.
 */
export type ProcessState = 'starting' | 'running' | 'failing' | 'unmonitored';

/** The state of all jobs as get_state tells it (bosh-agent: jobsupervisor/monit_job_supervisor.go, Status). */
export type JobState = 'running' | 'starting' | 'failing' | 'stopped' | 'unknown';

/** Sums up the states of all services; without any the VM is `running`, as with monit. */
export function jobStateOf(states: readonly ProcessState[], isStopped: boolean): JobState {
  if (isStopped) return states.some((state) => state !== 'unmonitored') ? 'failing' : 'stopped';
  if (states.includes('starting')) return 'starting';
  return states.every((state) => state === 'running') ? 'running' : 'failing';
}
