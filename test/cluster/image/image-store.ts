import { existsSync } from 'node:fs';
import { mkdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { awaitService, Machine, type Service } from '../machine/machine.ts';
import { runWell } from '../../support/run.ts';
import { writeWhole } from '../machine/write-whole.ts';
import { containerdConfiguration } from '../node/configuration.ts';
import { containerdService } from '../node/services.ts';

/**
 * Creates the directory that a containerd with these images has, by a temporary containerd that `load`
 * imports them into. Unpacking an image on each of many nodes takes too long. The directory appears
 * atomically.
 */
export async function makeImageStore(
  directory: string,
  load: (machine: Machine) => Promise<void>,
): Promise<void> {
  const draft = `${directory}.draft`;
  const machine = new Machine('images', draft);
  // Left by a process that was killed.
  await machine.kill();
  await rm(draft, { recursive: true, force: true });
  const service: Service = containerdService(draft);
  const root = join(draft, 'containerd');
  await mkdir(root, { recursive: true });
  try {
    await machine.start();
    await writeWhole(join(draft, 'containerd.toml'), containerdConfiguration(root));
    await machine.serve(service);
    await awaitService(
      machine,
      service.name,
      async () => (await machine.run(['ctr', 'version'])).exitCode === 0,
    );
    await load(machine);
    // After SIGTERM it leaves its databases consistent.
    await machine.endService(service);
  } finally {
    await machine.kill();
  }
  await rename(root, directory);
  await rm(draft, { recursive: true });
}

/**
 * Gives a node without images the directory of a store. Files are hard links if both are on one file system,
 * because no containerd writes to a blob or to an unpacked layer. Databases are copies.
 */
export async function linkImageStore(store: string, directory: string): Promise<void> {
  if (existsSync(directory)) return;
  const isNear = (await stat(store)).dev === (await stat(dirname(directory))).dev;
  const draft = `${directory}.draft`;
  await rm(draft, { recursive: true, force: true });
  await runWell(['cp', '--archive', isNear ? '--link' : '--reflink=auto', store, draft]);
  const copyDatabases = `cd "$1" && find . -name '*.db' -exec cp --archive --remove-destination {} "$2/{}" ';'`;
  await runWell(['sh', '-c', copyDatabases, 'sh', store, draft]);
  await rename(draft, directory);
}
