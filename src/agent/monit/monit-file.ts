import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import type { Directories } from '../directories.ts';
import { readFileIfPresent } from '../file/durable-file.ts';
import { jobBundle } from '../apply/spec-bundles.ts';
import type { ApplySpec } from '../spec/apply-spec.ts';
import { parseMonit } from './parser.ts';
import type { MonitProcess } from './monit-process.ts';

/** A monit file of a job and what it declares. */
export interface MonitFile {
  /** The name that it gets in monit/job: `NNNN_<job>.monitrc`. */
  readonly name: string;
  readonly text: string;
  readonly processes: readonly MonitProcess[];
}

/**
 * Reads and parses the monit files of every installed job of a spec: `monit` and `*.monit`, numbered from the
 * last job on as upstream does (bosh-agent: concrete_applier.go, ConfigureJobs). Anything that cannot be
 * supervised is an error that names job, line and clause.
 */
export async function readMonitFiles(
  spec: ApplySpec,
  directories: Directories,
): Promise<readonly MonitFile[]> {
  const files: MonitFile[] = [];
  for (const [index, job] of spec.jobs.toReversed().entries()) {
    const folder = jobBundle(job, spec, directories).installPath;
    for (const { label, text } of await monitTexts(folder)) {
      const name = `${String(index).padStart(4, '0')}_${job.name}${label}.monitrc`;
      files.push({ name, text, processes: parseMonit(text, job.name) });
    }
  }
  refuseTwins(files.flatMap((file) => file.processes));
  return files;
}

async function monitTexts(folder: string): Promise<readonly { label: string; text: string }[]> {
  const texts: { label: string; text: string }[] = [];
  const main = await readFileIfPresent(join(folder, 'monit'));
  if (main !== undefined) texts.push({ label: '', text: main });
  for (const name of (await readdir(folder)).toSorted()) {
    if (!name.endsWith('.monit')) continue;
    const text = (await readFileIfPresent(join(folder, name))) ?? '';
    texts.push({ label: `_${name.slice(0, -'.monit'.length)}`, text });
  }
  return texts;
}

function refuseTwins(processes: readonly MonitProcess[]): void {
  const jobs = new Map<string, string>();
  for (const { name, job } of processes) {
    const other = jobs.get(name);
    if (other !== undefined) {
      throw new ProductError(
        'AGENT_MONIT_INVALID',
        `process '${name}' is declared by job '${other}' and by job '${job}': rename one`,
      );
    }
    jobs.set(name, job);
  }
}
