import { createHash } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runWell } from '../../support/run.ts';
import { cachedDirectory } from '../programs/directory-cache.ts';

const sources = `deb http://deb.debian.org/debian bookworm main
deb http://deb.debian.org/debian bookworm-updates main
deb http://deb.debian.org/debian-security bookworm-security main
`;

/**
 * Returns a directory with Debian's package systemd-resolved, which a stock noble has in place of resolvconf,
 * in the version of systemd of that stemcell. It is downloaded once, so the first call needs a route to the
 * outside.
 */
export async function stockPackages(stemcell: string): Promise<string> {
  const packages = await readFile(join(stemcell, 'packages.txt'), 'utf8');
  const version = /^systemd (\S+)/mu.exec(packages)?.[1] ?? '';
  const key = createHash('sha256').update(`${sources}${version}`).digest('hex').slice(0, 12);
  return cachedDirectory('stock-packages', key, (directory) => download(directory, version));
}

async function download(directory: string, version: string): Promise<void> {
  const work = `${directory}.work`;
  await rm(work, { recursive: true, force: true });
  await mkdir(join(work, 'lists/partial'), { recursive: true });
  await writeFile(join(work, 'sources.list'), sources);
  const options = [
    `Dir::Etc::sourcelist=${work}/sources.list`,
    'Dir::Etc::sourceparts=-',
    `Dir::State::lists=${work}/lists`,
    'Dir::State::status=/dev/null',
    'Dir::Cache::pkgcache=',
    'Dir::Cache::srcpkgcache=',
    'APT::Sandbox::User=root',
  ];
  const apt = ['apt-get', '-qq', ...options.flatMap((option) => ['-o', option])];
  await runWell([...apt, 'update']);
  await runWell([...apt, 'download', `systemd-resolved=${version}`], { cwd: work });
  await runWell([
    'sh',
    '-c',
    'mkdir "$2.new" && mv "$1"/*.deb "$2.new" && mv -T "$2.new" "$2"',
    'sh',
    work,
    directory,
  ]);
  await rm(work, { recursive: true });
}
