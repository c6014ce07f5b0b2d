import { join } from 'node:path';

/**
 * Every path of a BOSH VM that the agent uses, below one base directory (bosh-agent: settings/directories).
 */
export interface Directories {
  readonly base: string;
  readonly bosh: string;
  readonly monit: string;
  readonly monitJobs: string;
  /** The output of the programs of services. */
  readonly monitLog: string;
  /** The socket of the `monit` command. */
  readonly monitSocket: string;
  /** The embedded node's program that replaces bin/bpm of the job bpm. Other VMs do not have it. */
  readonly bpmReplacement: string;
  readonly jobs: string;
  readonly packages: string;
  readonly instance: string;
  readonly store: string;
  readonly storeMigrationTarget: string;
  readonly data: string;
  readonly dataJobs: string;
  readonly dataPackages: string;
  readonly blobs: string;
  readonly compile: string;
  /** The agent's own temporary files. Jobs use the folder above (Garden: TMPDIR=/var/vcap/data/tmp). */
  readonly temporary: string;
  readonly sys: string;
  readonly dataSys: string;
  readonly log: string;
  readonly run: string;
  readonly agentLog: string;
  /** The configuration of logrotate for the logs of jobs. */
  readonly logrotate: string;
  /** The home directories of the accounts that `bosh ssh` has created. */
  readonly sshHomes: string;
}

/** Returns the paths below `base`, which is `/var/vcap` on a VM. */
export function directoriesOf(base: string): Directories {
  const data = join(base, 'data');
  const bosh = join(base, 'bosh');
  const monit = join(base, 'monit');
  return {
    base,
    bosh,
    monit,
    monitJobs: join(monit, 'job'),
    monitLog: join(monit, 'log'),
    monitSocket: join(monit, 'control.sock'),
    bpmReplacement: join(bosh, 'bin', 'bpm'),
    jobs: join(base, 'jobs'),
    packages: join(base, 'packages'),
    instance: join(base, 'instance'),
    store: join(base, 'store'),
    storeMigrationTarget: join(base, 'store_migration_target'),
    data,
    dataJobs: join(data, 'jobs'),
    dataPackages: join(data, 'packages'),
    blobs: join(data, 'blobs'),
    compile: join(data, 'compile'),
    temporary: join(data, 'tmp', 'bosh-agent'),
    sys: join(base, 'sys'),
    dataSys: join(data, 'sys'),
    log: join(data, 'sys', 'log'),
    run: join(data, 'sys', 'run'),
    agentLog: join(bosh, 'log'),
    logrotate: join(bosh, 'etc', 'logrotate'),
    sshHomes: join(base, 'bosh_ssh'),
  };
}
