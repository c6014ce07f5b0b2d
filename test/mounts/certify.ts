// Runs in the guest.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, open } from 'node:fs/promises';
import { join } from 'node:path';
import { ShareMounter } from '../../src/volumes/driver/mount/share-mounter.ts';
import { startDriver } from '../../src/volumes/driver/start-driver.ts';
import { callerOf, configIn } from '../../src/volumes/driver/testing/test-driver.ts';
import { asApp, mountLines } from './guest-steps.ts';

/** Options of a Create by the title of a case. */
export type CertificationCases = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/**
 * Runs the cases of the drivers' certification (cloudfoundry/dockerdriver, integration) against the HTTP API
 * of a driver that mounts real shares. Each volume is created, mounted, written to, read, deleted from,
 * unmounted and removed, the last one with a file open. Returns the driver's log. Throws at the first case
 * that fails.
 */
export async function certify(name: 'nfsv3driver' | 'smbdriver', cases: CertificationCases): Promise<string> {
  const directory = await mkdtemp('/mnt/certify-');
  // the id mapper passes through it as the mapped user
  await chmod(directory, 0o711);
  let log = '';
  const out = (line: string): void => void (log += line);
  const driver = await startDriver(configIn(directory, ['-name', name]), {
    mounter: new ShareMounter({}),
    out,
  });
  const call = callerOf(driver.address);
  const ask = async (title: string, verb: string, body: object): Promise<string> => {
    const { Err, Mountpoint = '' } = await call(`VolumeDriver.${verb}`, body);
    assert.equal(Err, '', `${title}: ${verb}`);
    return Mountpoint;
  };
  try {
    const titles = Object.keys(cases);
    for (const [index, title] of titles.entries()) {
      const Name = `certified-${index}`;
      await ask(title, 'Create', { Name, Opts: cases[title] });
      const path = await ask(title, 'Mount', { Name });
      const isReadOnly = title.includes('read-only');
      if (isReadOnly) await assert.rejects(asApp('echo x > certified', path), /Read-only file system/u);
      else
        assert.equal(await asApp('echo x > certified && cat certified && rm certified', path), 'x\n', title);
      const held =
        index === titles.length - 1 && !isReadOnly ? await open(join(path, 'open'), 'w') : undefined;
      await ask(title, 'Unmount', { Name });
      assert.deepEqual(await mountLines(path), [], title);
      assert.ok(!existsSync(path), title);
      await held?.close();
      await ask(title, 'Remove', { Name });
    }
  } finally {
    await driver.stop();
  }
  return log;
}
