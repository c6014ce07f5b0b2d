import { sortByDependencies, type MonitService } from '../../bosh/monit/monit-service.ts';
import { parseMonit } from '../../bosh/monit/parse-monit.ts';
import { readMonitTexts } from '../../bosh/monit/read-monit-texts.ts';
import type { Bundle } from '../apply/bundle-collection.ts';

/** A monit file of a job and its services. */
export interface MonitFile {
  /** Its name in monit/job: `NNNN_<job>.monitrc`. */
  readonly name: string;
  readonly text: string;
  readonly services: readonly MonitService[];
}

/**
 * Reads and parses the monit files of all installed jobs of a spec: `monit` and `*.monit`. Numbers them from
 * the last job on, as upstream does (bosh-agent: concrete_applier.go, ConfigureJobs). If a clause cannot be
 * supervised, the error names job, line and clause.
 */
export async function readMonitFiles(jobs: readonly Bundle[]): Promise<readonly MonitFile[]> {
  const files: MonitFile[] = [];
  for (const [index, job] of jobs.toReversed().entries()) {
    for (const { label, text } of await readMonitTexts(job.installPath)) {
      const name = `${String(index).padStart(4, '0')}_${job.name}${label}.monitrc`;
      files.push({ name, text, services: parseMonit(text, job.name) });
    }
  }
  sortByDependencies(files.flatMap(({ services }) => services));
  return files;
}
