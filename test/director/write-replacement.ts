import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packRelease } from '../../src/bosh/release/pack-release.ts';
import { digestOfFile } from '../../src/bosh/digest.ts';

const source = join(import.meta.dirname, 'stand-in');

/**
 * Writes the files of a checkout of bosh-deployment into the directory, which it creates: bosh.yml, uaa.yml
 * and credhub.yml, with our releases instead of upstream's. Their jobs need a Node in the stemcell. Returns
 * the path of bosh.yml.
 */
export async function writeReplacement(directory: string): Promise<string> {
  await mkdir(directory, { recursive: true });
  let manifest = await readFile(join(source, 'bosh.yml'), 'utf8');
  for (const name of ['bosh', 'bpm']) {
    const outFile = join(directory, `${name}.tgz`);
    const { version } = await packRelease({
      ...{ directory: join(source, 'releases', name), version: '0.0.1', outFile },
    });
    manifest = manifest
      .replace(`((${name}_release.version))`, version)
      .replace(`((${name}_release.url))`, `file://${outFile}`)
      .replace(`((${name}_release.sha1))`, await digestOfFile(outFile));
  }
  for (const name of ['uaa.yml', 'credhub.yml']) await cp(join(source, name), join(directory, name));
  const path = join(directory, 'bosh.yml');
  await writeFile(path, manifest);
  return path;
}
