import { join } from 'node:path';
import type { Bundle } from '../apply/bundle.ts';
import type { Directories } from '../directories.ts';
import { isThere } from '../file/is-there.ts';
import { replaceLink } from '../file/symbolic-link.ts';

/**
 * Has `bin/bpm` of an installed job bpm be the stand-in, where this VM's image has one: the embedded node's,
 * whose kernel refuses containers in a pod. Elsewhere bpm stays as its release made it. Idempotent.
 */
export async function linkBpmReplacement(job: Bundle, directories: Directories): Promise<void> {
  if (job.name !== 'bpm' || !(await isThere(directories.bpmStandIn))) return;
  const program = join(job.installPath, 'bin', 'bpm');
  if (await isThere(program)) await replaceLink(directories.bpmStandIn, program);
}
