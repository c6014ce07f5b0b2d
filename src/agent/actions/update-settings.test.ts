import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { scratchDirectory } from '../../bosh/testing/scratch.ts';
import { createTestAuthority } from '../../kubernetes/testing/certificates.ts';
import { systemClock } from '../../platform/clock.ts';
import { openBlobstore } from '../blob/open-blobstore.ts';
import { directoriesOf } from '../directories.ts';
import { systemPrograms, type Programs } from '../process/programs.ts';
import { TrustedCertificates } from '../settings/trusted-certificates.ts';
import { UpdatedSettings } from '../settings/updated-settings.ts';
import { updateSettings } from './update-settings.ts';

const authority = await createTestAuthority({ name: 'nats-ca' });
const cert = async (name: string): Promise<{ ca: string; certificate: string; private_key: string }> => {
  const { certificate, key } = await authority.client(name);
  return { ca: authority.ca, certificate, private_key: key };
};
const first = await cert('first');
const other = await cert('other');

async function scene(t: TestContext) {
  const directories = directoriesOf(await scratchDirectory(t));
  await mkdir(directories.bosh, { recursive: true });
  const store = join(directories.base, 'ca-certificates');
  const ended = { code: 0, signal: undefined, failure: undefined };
  const programs: Programs = { start: () => ({ exit: Promise.resolve(ended), signal: () => {} }) };
  const ports = { clock: systemClock, directories, programs: systemPrograms };
  const exchanged: string[] = [];
  const action = updateSettings({
    updatedSettings: await UpdatedSettings.read(directories),
    trustedCertificates: new TrustedCertificates({ directory: store, programs, clock: systemClock }),
    openBlobstore: (settings) => openBlobstore(settings, ports),
    exchangeCertificate: async ({ certificate }, commit) => {
      await commit();
      exchanged.push(certificate);
    },
    log: { info: () => {}, error: () => {} },
  });
  const update = (change: unknown): Promise<unknown> =>
    action.run([change], new AbortController().signal, 'task-1');
  const path = join(directories.bosh, 'update_settings.json');
  const present = async (): Promise<unknown> => [
    await readFile(path, 'utf8'),
    await readdir(store),
    [...exchanged],
  ];
  return { directories, update, path, store, exchanged, present };
}

test('an update that cannot be used is refused with its cause and changes nothing', async (t) => {
  const { update, present } = await scene(t);
  await update({ trusted_certs: authority.ca, mbus: { cert: first }, blobstores: [{ provider: 'local' }] });
  const before = await present();
  const refused: readonly (readonly [unknown, RegExp])[] = [
    [undefined, /settings\) is missing/u],
    ['text', /must be an object/u],
    [{ trusted_certs: 7 }, /trusted_certs must be a string/u],
    [{ trusted_certs: 'no certificate' }, /trusted_certs has no certificate in PEM form/u],
    [{ disk_associations: [{ name: 'a', cid: 'b' }] }, /no named disks: use persistent_disk_type/u],
    [{ disk_associations: { name: 'a' } }, /disk_associations must be a list/u],
    [{ mbus: 'nats://x' }, /mbus must be an object/u],
    [{ mbus: { cert: { ...other, private_key: undefined } } }, /private_key is missing/u],
    [{ mbus: { cert: { ...other, private_key: first.private_key } } }, /private_key must be the key of the/u],
    [{ mbus: { cert: { ...other, private_key: 'secret' } } }, /private_key must be the key of the/u],
    [{ mbus: { cert: { ...other, certificate: 'x' } } }, /certificate must be a certificate in PEM form/u],
    [{ mbus: { cert: { ...other, ca: undefined } } }, /cert\.ca is missing/u],
    [{ blobstores: { provider: 'dav' } }, /blobstores must be a list/u],
    [{ blobstores: [{ options: {} }] }, /blobstores\[0\]\.provider is missing/u],
    [{ blobstores: [{ provider: 'dav', options: {} }] }, /the option endpoint of the blobstore dav/u],
    [{ blobstores: [{ provider: '../x' }] }, /the provider of the blobstore must be a name/u],
  ];
  for (const [change, cause] of refused) {
    await assert.rejects(
      async () => update(change),
      (error) => {
        assert.match(String(error), cause);
        assert.doesNotMatch(String(error), /PRIVATE KEY|secret$/u);
        return true;
      },
    );
    assert.deepEqual(await present(), before);
  }
});

test('parts that an update does not have stay as the previous update set them', async (t) => {
  const { update, path, exchanged, store } = await scene(t);
  const blobstores = [{ provider: 'local' }];
  await update({ trusted_certs: authority.ca, mbus: { cert: first }, blobstores });
  await update({ trusted_certs: null, mbus: {}, blobstores: [], disk_associations: null });
  const { mbus, blobstores: kept } = JSON.parse(await readFile(path, 'utf8')) as Record<string, unknown>;
  assert.deepEqual([mbus, kept], [{ cert: first }, blobstores]);
  assert.deepEqual(exchanged, [first.certificate]);
  assert.deepEqual(await readdir(store), []);
  assert.equal((await stat(path)).mode & 0o777, 0o600);
});

test('an update that cannot be written gives the trusted certificates back', async (t) => {
  const { update, directories, store } = await scene(t);
  await rm(directories.bosh, { recursive: true });
  await assert.rejects(async () => update({ trusted_certs: authority.ca }), { code: 'ENOENT' });
  assert.deepEqual(await readdir(store), []);
});

test('a file that is not JSON is named, without its content', async (t) => {
  const { directories, path } = await scene(t);
  await writeFile(path, '{"private_key":"secret"');
  await assert.rejects(UpdatedSettings.read(directories), (error) => {
    assert.match(String(error), /update_settings\.json is not a JSON object: recreate the VM/u);
    assert.doesNotMatch(String(error), /secret/u);
    return true;
  });
});
