import type { Json, Place } from '../input.ts';
import { at, booleanAt, optionalStringAt, recordAt, wrong } from '../input.ts';

/** bosh-agent: platform/linux_platform.go, SetupDataDir. */
const defaultSize = '100m';
const units: Readonly<Record<string, string>> = { '': '', k: 'Ki', m: 'Mi', g: 'Gi' };

export interface JobsInMemory {
  /**
   * How much memory rendered jobs may take, as a quantity; undefined: they are on the disk of
   * /var/vcap/data.
   */
  readonly jobsInMemory: string | undefined;
  /** What the agent gets of the env: a mount of its own would be empty after a restart of the container. */
  readonly env: Json;
}

/** Reads env.bosh.job_dir, which the pod does (vm-pod.ts). */
export function parseJobsInMemory(env: Json, place: Place): JobsInMemory {
  const bosh = recordAt(env['bosh'], at(place, 'bosh'));
  if (bosh['job_dir'] === undefined) return { jobsInMemory: undefined, env };
  const where = at(at(place, 'bosh'), 'job_dir');
  const { job_dir, ...others } = bosh;
  const jobs = recordAt(job_dir, where);
  const isWanted = booleanAt(jobs['tmpfs'], at(where, 'tmpfs')) === true;
  const size = optionalStringAt(jobs['tmpfs_size'], at(where, 'tmpfs_size')) ?? defaultSize;
  return { jobsInMemory: isWanted ? quantityOf(size, where) : undefined, env: { ...env, bosh: others } };
}

/** A size of mount(8) as a quantity of Kubernetes, where `100m` is a tenth of a byte. */
function quantityOf(text: string, place: Place): string {
  const [, number, unit = ''] = /^([1-9]\d{0,11})([kmg]?)$/iu.exec(text) ?? [];
  if (number === undefined)
    throw wrong(at(place, 'tmpfs_size'), 'has to be a number of bytes, KiB, MiB or GiB, such as 100m or 1g');
  return `${number}${units[unit.toLowerCase()] ?? ''}`;
}
