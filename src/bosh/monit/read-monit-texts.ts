import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** A monit file of a job. */
export interface MonitText {
  /**
   * The suffix after the job's name in the name of the installed file: empty, or `_<name>` for
   * `<name>.monit`.
   */
  readonly label: string;
  readonly text: string;
}

/**
 * Reads the monit files in a job's directory: `monit` and `*.monit` (bosh-agent: concrete_applier.go,
 * ConfigureJobs).
 */
export async function readMonitTexts(directory: string): Promise<readonly MonitText[]> {
  const names = (await readdir(directory)).toSorted();
  const read = async (name: string, label: string): Promise<MonitText> => ({
    label,
    text: await readFile(join(directory, name), 'utf8'),
  });
  return Promise.all([
    ...names.filter((name) => name === 'monit').map((name) => read(name, '')),
    ...names
      .filter((name) => name.endsWith('.monit'))
      .map((name) => read(name, `_${name.slice(0, -'.monit'.length)}`)),
  ]);
}
