import { randomUUID } from 'node:crypto';
import { constants, copyFile, open, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** The prefix of unfinished files; runtimes and plugin searches ignore such names. */
const unfinished = '.static-ip-unfinished-';

/** Writes a file atomically: after a kill either the old or the new file exists. */
export async function writeAtomic(
  directory: string,
  name: string,
  text: string,
  mode: number,
): Promise<void> {
  await replaceFile(directory, name, async (path) => {
    const file = await open(path, 'wx', mode);
    try {
      await file.writeFile(text);
      // the umask has reduced the mode at creation
      await file.chmod(mode);
    } finally {
      await file.close();
    }
  });
}

/** Copies another file atomically and makes it executable. A running process keeps its old bytes. */
export async function copyAtomic(source: string, directory: string, name: string): Promise<void> {
  await replaceFile(directory, name, async (path) => {
    await copyFile(source, path, constants.COPYFILE_EXCL);
    const file = await open(path, 'r');
    try {
      await file.chmod(0o755);
    } finally {
      await file.close();
    }
  });
}

/** Removes a file and syncs its directory. A missing file is success. */
export async function removeDurable(directory: string, name: string): Promise<void> {
  await rm(join(directory, name), { force: true });
  await sync(directory);
}

/** Removes the unfinished files of a killed installer. */
export async function removeUnfinished(directory: string): Promise<void> {
  const names = await readdir(directory);
  for (const name of names.filter((each) => each.startsWith(unfinished)))
    await rm(join(directory, name), { force: true });
}

async function replaceFile(
  directory: string,
  name: string,
  write: (path: string) => Promise<void>,
): Promise<void> {
  const path = join(directory, `${unfinished}${randomUUID()}`);
  try {
    await write(path);
    await sync(path);
    await rename(path, join(directory, name));
  } finally {
    await rm(path, { force: true });
  }
  await sync(directory);
}

async function sync(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
