import { existsSync } from 'node:fs';
import { mkdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { awaitService, Machine, type Service } from '../machine/machine.ts';
import { runWell } from '../machine/run.ts';
import { writeWhole } from '../machine/write-whole.ts';
import { containerdConfiguration } from '../node/configuration.ts';
import { containerdService } from '../node/services.ts';

/**
 * Makes the folder that a containerd with these images has, by one of its own that `load` brings them to: to unpack an image
 * anew in each of many nodes costs what it weighs. It appears whole.
 */
export async function makeImageStore(
  directory: string,
  load: (machine: Machine) => Promise<void>,
): Promise<void> {
  const draft = `${directory}.draft`;
  const machine = new Machine('images', draft);
  // of a maker that was killed
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
    // asked to, it leaves its databases in order
    await machine.endService(service);
  } finally {
    await machine.kill();
  }
  await rename(root, directory);
  await rm(draft, { recursive: true });
}

/**
 * Gives a node that has none yet the folder of a store: its files by hard links where both are on one file system, since no
 * containerd writes to a blob or to an unpacked layer, and its databases as copies.
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
