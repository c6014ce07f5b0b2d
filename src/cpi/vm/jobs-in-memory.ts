import type { Json, Location } from '../input.ts';
import { child, booleanAt, optionalStringAt, recordAt, invalidValue } from '../input.ts';

/** The default of bosh-agent: platform/linux_platform.go, SetupDataDir. */
const defaultSize = '100m';
const units: Readonly<Record<string, string>> = { '': '', k: 'Ki', m: 'Mi', g: 'Gi' };

export interface JobsInMemory {
  /**
   * How much memory rendered jobs may take, as a quantity; undefined: they are on the disk of /var/vcap/data.
   */
  readonly jobsInMemory: string | undefined;
  /**
   * The env without `job_dir`: a mount that the agent makes would be empty after a restart of the container.
   */
  readonly env: Json;
}

/** Reads env.bosh.job_dir. The pod provides this mount (vm-pod.ts), not the agent. */
export function parseJobsInMemory(env: Json, place: Location): JobsInMemory {
  const bosh = recordAt(env['bosh'], child(place, 'bosh'));
  if (bosh['job_dir'] === undefined) return { jobsInMemory: undefined, env };
  const where = child(child(place, 'bosh'), 'job_dir');
  const { job_dir, ...others } = bosh;
  const jobs = recordAt(job_dir, where);
  const enabled = booleanAt(jobs['tmpfs'], child(where, 'tmpfs')) === true;
  const size = optionalStringAt(jobs['tmpfs_size'], child(where, 'tmpfs_size')) ?? defaultSize;
  return { jobsInMemory: enabled ? toQuantity(size, where) : undefined, env: { ...env, bosh: others } };
}

/** Converts a size of mount(8) to a quantity of Kubernetes, in which `100m` is a tenth of a byte. */
function toQuantity(text: string, place: Location): string {
  const [, number, unit = ''] = /^([1-9]\d{0,11})([kmg]?)$/iu.exec(text) ?? [];
  if (number === undefined)
    throw invalidValue(
      child(place, 'tmpfs_size'),
      'has to be a number of bytes, KiB, MiB or GiB, such as 100m or 1g',
    );
  return `${number}${units[unit.toLowerCase()] ?? ''}`;
}
