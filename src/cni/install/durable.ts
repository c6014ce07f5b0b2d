import { randomUUID } from 'node:crypto';
import { constants, copyFile, open, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** In front of unfinished files; neither a runtime nor a plugin search looks at them. */
const unfinished = '.static-ip-unfinished-';

/** Puts a text in place as a whole: after a kill the old file or the new one is there. */
export async function writeAtomic(
  directory: string,
  name: string,
  text: string,
  mode: number,
): Promise<void> {
  await putInPlace(directory, name, async (path) => {
    const file = await open(path, 'wx', mode);
    try {
      await file.writeFile(text);
      // the umask had its say when it was made
      await file.chmod(mode);
    } finally {
      await file.close();
    }
  });
}

/** The same with the bytes of another file, executable. A running one goes on with its old bytes. */
export async function copyAtomic(source: string, directory: string, name: string): Promise<void> {
  await putInPlace(directory, name, async (path) => {
    await copyFile(source, path, constants.COPYFILE_EXCL);
    const file = await open(path, 'r');
    try {
      await file.chmod(0o755);
    } finally {
      await file.close();
    }
  });
}

/** Removes a file durably; an absent one is fine. */
export async function removeDurable(directory: string, name: string): Promise<void> {
  await rm(join(directory, name), { force: true });
  await sync(directory);
}

/** Removes what a killed installer left unfinished. */
export async function removeUnfinished(directory: string): Promise<void> {
  const names = await readdir(directory);
  for (const name of names.filter((each) => each.startsWith(unfinished)))
    await rm(join(directory, name), { force: true });
}

async function putInPlace(
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
