import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { MountSpec } from '../mount-order.ts';
import type { Mounter } from '../mounter.ts';

/** A Mounter, shares for it, and a way to use what it mounts, which may be in another kernel. */
export interface MounterSubject {
  readonly mounter: Mounter;
  /** Of root's alone; the suite makes its targets there. */
  readonly folder: string;
  /** A share that can be written. */
  readonly order: MountSpec;
  /** A share that its server does not have. */
  readonly missing: MountSpec;
  readonly makeFolder: (path: string) => Promise<void>;
  /** What an app does in `folder`; throws where it may not write. */
  readonly write: (folder: string, name: string, text: string) => Promise<void>;
  readonly read: (folder: string, name: string) => Promise<string>;
  /** Keeps a file of `folder` open until the function that it returns is called. */
  readonly holdOpen: (folder: string, name: string) => Promise<() => Promise<void>>;
}

const inTime = (): AbortSignal => AbortSignal.timeout(120_000);

/** What every Mounter does; `subject` is asked for when the first test runs. */
export function mounterSuite(
  name: string,
  subject: () => MounterSubject,
  skip: string | false = false,
): void {
  const target = async (called: string): Promise<string> => {
    const path = join(subject().folder, called);
    await subject().makeFolder(path);
    return path;
  };

  test(`${name}: a mounted share answers and is listed, until it is unmounted`, { skip }, async () => {
    const { mounter, order, folder, write, read } = subject();
    // the kernel writes these characters as octal numbers
    const path = await target('a b\\040');
    assert.equal(await mounter.probe(path, 30), 'absent');
    await mounter.mount(order, path, inTime());
    assert.equal(await mounter.probe(path, 30), 'answers');
    assert.deepEqual(await mounter.listMounts(folder), [path]);
    await write(path, 'kept', 'text');
    await mounter.unmount(path, inTime());
    assert.equal(await mounter.probe(path, 30), 'absent');
    assert.deepEqual(await mounter.listMounts(folder), []);
    await mounter.unmount(path, inTime());
    await mounter.mount({ ...order, readOnly: true }, path, inTime());
    assert.equal(await read(path, 'kept'), 'text');
    await assert.rejects(write(path, 'refused', 'text'));
    await mounter.unmount(path, inTime());
  });

  test(`${name}: a share is unmounted while an app has a file open`, { skip }, async () => {
    const { mounter, order, write, holdOpen } = subject();
    const path = await target('open');
    await mounter.mount(order, path, inTime());
    await write(path, 'open', 'text');
    const close = await holdOpen(path, 'open');
    await mounter.unmount(path, inTime());
    assert.equal(await mounter.probe(path, 30), 'absent');
    await close();
  });

  test(`${name}: a share that the server does not have is refused by name`, { skip }, async () => {
    const { mounter, missing, folder } = subject();
    const path = await target('missing');
    await assert.rejects(mounter.mount(missing, path, inTime()), ({ code }: NodeJS.ErrnoException) =>
      ['NO_SUCH_SHARE', 'ACCESS_DENIED'].includes(code ?? ''),
    );
    await mounter.unmount(path, inTime());
    assert.deepEqual(await mounter.listMounts(folder), []);
  });
}
