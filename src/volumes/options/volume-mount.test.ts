import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isProductError } from '../../errors/product-error.ts';
import { parseVolumeMounts } from './volume-mount.ts';

const mount = {
  driver: 'smbdriver',
  container_dir: '/var/photos/',
  mode: 'r',
  device_type: 'shared',
  device: { volume_id: 'v-1', mount_config: { password: 'hidden-word' } },
};
const answer = (...mounts: object[]): object => ({ credentials: {}, volume_mounts: mounts });
const refused = (value: unknown, message: RegExp): void =>
  assert.throws(() => parseVolumeMounts(typeof value === 'string' ? value : JSON.stringify(value)), {
    code: 'VOLUME_MOUNT_INVALID',
    message,
  });

test('the responses of all bindings of an app are its volumes', () => {
  const other = { ...mount, container_dir: '/other', mode: 'rw', device: { volume_id: 'v-2' } };
  assert.deepEqual(parseVolumeMounts(JSON.stringify([answer(mount), answer(other), {}])), [
    {
      driver: 'smbdriver',
      volumeId: 'v-1',
      containerDir: '/var/photos',
      isReadOnly: true,
      config: { password: 'hidden-word' },
    },
    { driver: 'smbdriver', volumeId: 'v-2', containerDir: '/other', isReadOnly: false, config: {} },
  ]);
});

test('two mounts for one directory, or one inside the other, are refused by name', () => {
  const second = { ...mount, device: { volume_id: 'v-2' } };
  refused([answer(mount), answer(second)], /volumes v-1 and v-2 are both for \/var\/photos/u);
  refused(answer(mount, { ...second, container_dir: '/var' }), /v-2 and v-1 are one inside the other/u);
  assert.equal(
    parseVolumeMounts(JSON.stringify(answer(mount, { ...second, container_dir: '/var/photos2' }))).length,
    2,
  );
});

test('all errors are reported, without the password', () => {
  const wrong = { ...mount, driver: 5, container_dir: '/a/../etc', mode: 'w', device_type: 'dedicated' };
  refused(
    answer(wrong),
    /^(?=.*\bdriver must be)(?=.*container_dir must be)(?=.*mode must be r or rw)(?=.*device_type must be shared)(?!.*hidden-word)/u,
  );
  for (const text of ['', '{"volume_mounts": "hidden-word', '5', '[5]']) refused(text, /^(?!.*hidden-word)/u);
});

test('property: any input is parsed or rejected', () => {
  const value = fc.oneof(
    fc.jsonValue(),
    fc.record({ volume_mounts: fc.jsonValue() }),
    fc.constant(answer(mount)),
  );
  fc.assert(
    fc.property(value, (any) => {
      try {
        parseVolumeMounts(JSON.stringify(any));
      } catch (error) {
        assert.ok(isProductError(error, 'VOLUME_MOUNT_INVALID'), String(error));
      }
    }),
  );
});
