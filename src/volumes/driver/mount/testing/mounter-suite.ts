import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { MountSpec } from '../mount-command.ts';
import type { Mounter } from '../mounter.ts';

/** A Mounter, shares for it, and functions that use its mounts, which may be in another kernel. */
export interface MounterSubject {
  readonly mounter: Mounter;
  /** A directory that only root can enter. The suite creates its targets in it. */
  readonly directory: string;
  /** A writable share. */
  readonly spec: MountSpec;
  /** A share that does not exist on its server. */
  readonly missing: MountSpec;
  readonly makeDirectory: (path: string) => Promise<void>;
  /** Writes a file as an app does. Rejects if the app may not write. */
  readonly write: (directory: string, name: string, text: string) => Promise<void>;
  readonly read: (directory: string, name: string) => Promise<string>;
  /** Opens a file of `directory`. Returns a function that closes it. */
  readonly holdOpen: (directory: string, name: string) => Promise<() => Promise<void>>;
}

const inTime = (): AbortSignal => AbortSignal.timeout(120_000);

/** Tests any Mounter. `subject` is called when the first test runs. */
export function mounterSuite(
  name: string,
  subject: () => MounterSubject,
  skip: string | false = false,
): void {
  const target = async (called: string): Promise<string> => {
    const path = join(subject().directory, called);
    await subject().makeDirectory(path);
    return path;
  };

  test(`${name}: a mounted share answers and is listed, until it is unmounted`, { skip }, async () => {
    const { mounter, spec, directory, write, read } = subject();
    // mountinfo has these characters as octal numbers
    const path = await target('a b\\040');
    assert.equal(await mounter.probe(path, 30), 'absent');
    await mounter.mount(spec, path, inTime());
    assert.equal(await mounter.probe(path, 30), 'answers');
    assert.deepEqual(await mounter.listMounts(directory), [path]);
    await write(path, 'kept', 'text');
    await mounter.unmount(path, inTime());
    assert.equal(await mounter.probe(path, 30), 'absent');
    assert.deepEqual(await mounter.listMounts(directory), []);
    await mounter.unmount(path, inTime());
    await mounter.mount({ ...spec, readOnly: true }, path, inTime());
    assert.equal(await read(path, 'kept'), 'text');
    await assert.rejects(write(path, 'refused', 'text'));
    await mounter.unmount(path, inTime());
  });

  test(`${name}: a share is unmounted while an app has a file open`, { skip }, async () => {
    const { mounter, spec, write, holdOpen } = subject();
    const path = await target('open');
    await mounter.mount(spec, path, inTime());
    await write(path, 'open', 'text');
    const close = await holdOpen(path, 'open');
    await mounter.unmount(path, inTime());
    assert.equal(await mounter.probe(path, 30), 'absent');
    await close();
  });

  test(`${name}: a share that the server does not have is refused by name`, { skip }, async () => {
    const { mounter, missing, directory } = subject();
    const path = await target('missing');
    await assert.rejects(mounter.mount(missing, path, inTime()), ({ code }: NodeJS.ErrnoException) =>
      ['NO_SUCH_SHARE', 'ACCESS_DENIED'].includes(code ?? ''),
    );
    await mounter.unmount(path, inTime());
    assert.deepEqual(await mounter.listMounts(directory), []);
  });
}
