import { sortByDependencies, type MonitService } from '../../bosh/monit/monit-service.ts';
import { parseMonit } from '../../bosh/monit/parse-monit.ts';
import { readMonitTexts } from '../../bosh/monit/read-monit-texts.ts';
import type { RenderedJob } from '../../bosh/template/render-job.ts';
import { ProductError, isProductError } from '../../errors/product-error.ts';

interface JobOfRelease {
  readonly name: string;
  readonly release: string;
}

/**
 * Reads the monit files of rendered jobs as our agent does. Throws MONIT_INVALID with one line for each file
 * that the agent would reject.
 */
export async function checkMonitFiles(
  rendered: readonly RenderedJob[],
  jobs: readonly JobOfRelease[],
): Promise<void> {
  const problems: string[] = [];
  const note = <T>(read: () => readonly T[]): readonly T[] => {
    try {
      return read();
    } catch (error) {
      if (!isProductError(error)) throw error;
      problems.push(error.message);
      return [];
    }
  };
  const services: MonitService[] = [];
  for (const { name, directory } of rendered)
    for (const { text } of await readMonitTexts(directory))
      services.push(...note(() => parseMonit(text, name)));
  if (problems.length === 0) note(() => sortByDependencies(services));
  if (problems.length === 0) return;
  throw new ProductError(
    'MONIT_INVALID',
    `The agent of this stemcell cannot run what these rendered monit files say:\n${problems.map((one) => withRelease(one, jobs)).join('\n')}`,
  );
}

/** Returns for example `release 'web', job 'server': monit line 5, …`. */
function withRelease(problem: string, jobs: readonly JobOfRelease[]): string {
  const job = jobs.find(({ name }) => problem.startsWith(`job '${name}': `));
  return job === undefined ? problem : `release '${job.release}', ${problem}`;
}
