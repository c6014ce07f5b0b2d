import { sortByDependencies, type MonitService } from '../../bosh/monit/monit-service.ts';
import { parseMonit } from '../../bosh/monit/parse-monit.ts';
import { readMonitTexts } from '../../bosh/monit/read-monit-texts.ts';
import type { Directories } from '../directories.ts';
import { jobBundle } from '../apply/bundle-collection.ts';
import type { ApplySpec } from '../apply/spec.ts';

/** A monit file of a job and its services. */
export interface MonitFile {
  /** Its name in monit/job: `NNNN_<job>.monitrc`. */
  readonly name: string;
  readonly text: string;
  readonly services: readonly MonitService[];
}

/**
 * Reads and parses the monit files of every installed job of a spec: `monit` and `*.monit`. Numbers them from
 * the last job on, as upstream does (bosh-agent: concrete_applier.go, ConfigureJobs). If a clause cannot be
 * supervised, the error names job, line and clause.
 */
export async function readMonitFiles(
  spec: ApplySpec,
  directories: Directories,
): Promise<readonly MonitFile[]> {
  const files: MonitFile[] = [];
  for (const [index, job] of spec.jobs.toReversed().entries()) {
    const folder = jobBundle(job, spec, directories).installPath;
    for (const { label, text } of await readMonitTexts(folder)) {
      const name = `${String(index).padStart(4, '0')}_${job.name}${label}.monitrc`;
      files.push({ name, text, services: parseMonit(text, job.name) });
    }
  }
  sortByDependencies(files.flatMap(({ services }) => services));
  return files;
}
