import type { MonitProgram, MonitService } from '../../bosh/monit/monit-service.ts';

/** Returns a check of a process with only these clauses. */
export function monitService(parts: Pick<MonitService, 'subject'> & Partial<MonitService>): MonitService {
  return {
    ...{
      job: 'job',
      name: 'job',
      line: 1,
      start: undefined,
      stop: undefined,
      groups: ['vcap'],
      dependsOn: [],
    },
    ...{ mode: 'active', every: 1, rules: [], restartLimits: [] },
    ...parts,
  };
}

/** Returns a shell script as a program. */
export function monitScript(script: string, timeoutSeconds = 20, user?: string): MonitProgram {
  return { arguments: ['/bin/bash', '-c', script], timeoutSeconds, user, group: undefined };
}
