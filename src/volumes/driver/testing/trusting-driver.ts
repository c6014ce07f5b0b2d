import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { signVolumeId } from '../../signature/signed-volume-id.ts';
import type { SigningPair } from '../../signature/testing/new-pair.ts';
import { newPair } from '../../signature/testing/new-pair.ts';
import type { TestDriver } from './test-driver.ts';
import { driverDirectory, safeDescription, testDriver } from './test-driver.ts';

/** The app that volumes are signed for. */
export const appGuid = '3f1a7f4e-0000-4000-8000-000000000001';
/** A driver with the broker's public key, which reads secrets below `<folder>/secrets`. */
export interface TrustingDriver extends TestDriver {
  readonly directory: string;
  readonly pair: SigningPair;
  /**
   * Mounts options under the id that the broker signed for them. Returns the developer's text of `Err`, or
   * ''.
   */
  readonly mount: (options: Record<string, unknown>, signed?: Record<string, unknown>) => Promise<string>;
}

export async function trustingDriver(
  t: TestContext,
  mode: string,
  { directory, args = [] }: { directory?: string; args?: readonly string[] } = {},
): Promise<TrustingDriver> {
  directory ??= await driverDirectory(t);
  const pair = newPair();
  await writeFile(join(directory, 'keys.pem'), newPair().publicPem + pair.publicPem);
  await mkdir(join(directory, 'secrets', 'team'), { recursive: true });
  const signing = ['-name', 'smbdriver', '-signatures', mode, '-signatureKeys', join(directory, 'keys.pem')];
  const secrets = ['-secretFiles', join(directory, 'secrets')];
  const driver = await testDriver(t, { directory, args: [...signing, ...secrets, ...args] });
  let container = 0;
  return {
    ...driver,
    directory,
    pair,
    mount: async (options, signed = options) => {
      const mount = {
        instanceId: 'instance',
        appGuid,
        containerDir: String(signed['mount']),
        mode: 'rw',
      } as const;
      const Name = `${signVolumeId(mount, signed, pair.key)}_container=${(container += 1)}`;
      assert.equal((await driver.call('VolumeDriver.Create', { Name, Opts: options })).Err, '');
      const answer = await driver.call('VolumeDriver.Mount', { Name });
      return answer.Err === '' ? '' : safeDescription(answer);
    },
  };
}
