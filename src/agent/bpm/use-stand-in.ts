import { join } from 'node:path';
import type { Bundle } from '../apply/bundle.ts';
import type { Directories } from '../directories.ts';
import { isThere } from '../file/is-there.ts';
import { replaceLink } from '../file/symbolic-link.ts';

/**
 * Links `bin/bpm` of an installed job bpm to the replacement, if the VM's image has one. The image of the
 * embedded node has one, because that node's kernel does not allow containers in a pod. Otherwise bpm stays
 * as its release installed it. Idempotent.
 */
export async function linkBpmReplacement(job: Bundle, directories: Directories): Promise<void> {
  if (job.name !== 'bpm' || !(await isThere(directories.bpmStandIn))) return;
  const program = join(job.installPath, 'bin', 'bpm');
  if (await isThere(program)) await replaceLink(directories.bpmStandIn, program);
}
