import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isProductError } from '../../errors/product-error.ts';
import { resolveBusAddress } from '../mbus/bus-address.ts';
import { resolveNetworks } from '../apply/networks.ts';
import { parseSettingsPaths } from './load-settings.ts';
import { parseSettings } from './settings.ts';

const parse = (value: object): ReturnType<typeof parseSettings> =>
  parseSettings(
    JSON.stringify({ agent_id: 'a', mbus: 'https://u:p%40ss@0.0.0.0:6868', ...value }),
    'settings',
  );
const isInvalid = (error: unknown): boolean =>
  isProductError(error, 'AGENT_SETTINGS_INVALID') && !error.message.includes('p%40ss');

test('the bus listens on the address of the first manual network, otherwise on that of the URL', () => {
  const networks = {
    dyn: { type: 'dynamic', ip: '10.0.0.1' },
    first: { ip: '127.64.0.2' },
    next: { ip: '127.64.0.3' },
  };
  assert.deepEqual(resolveBusAddress(parse({ networks }), '127.96.0.9'), {
    host: '127.64.0.2',
    port: 6868,
    user: 'u',
    password: 'p@ss',
  });
  assert.equal(resolveBusAddress(parse({}), '10.0.0.7').host, '0.0.0.0');
  assert.equal(resolveBusAddress(parse({ mbus: 'https://u:p@[::1]:1' }), '127.96.0.9').host, '::1');
});

test('VMs with dynamic networks that share a machine listen on different loopback addresses', () => {
  const networks = { dyn: { type: 'dynamic' } };
  for (const machine of ['127.96.0.1', '127.96.0.2']) {
    assert.equal(resolveBusAddress(parse({ networks }), machine).host, machine);
  }
  for (const everybodys of ['127.0.0.1', '127.0.1.1', '']) {
    assert.equal(resolveBusAddress(parse({ networks }), everybodys).host, '0.0.0.0');
  }
});

test('the URLs of env.bosh.mbus override mbus', () => {
  const env = { bosh: { mbus: { urls: ['https://v:q@127.0.0.9:7'] } } };
  assert.equal(resolveBusAddress(parse({ env }), '').host, '127.0.0.9');
});

test('rejects other buses without printing their secrets', () => {
  for (const mbus of ['http://u:p%40ss@x:1', 'https://x:1', 'p%40ss', 'https://u:p%40ss@:1']) {
    assert.throws(() => resolveBusAddress(parse({ mbus }), ''), isInvalid, mbus);
  }
  assert.throws(() => parseSettings('{"mbus":"https://u:p%40ss@x:1"', 'settings'), isInvalid);
  assert.throws(() => parseSettings('{"mbus":"https://u:p%40ss@x:1"}', 'settings'), isInvalid);
  assert.throws(() => parseSettings('[]', 'settings'), isInvalid);
});

test('reads the File sources of agent.json', () => {
  const config = (sources: unknown): string =>
    JSON.stringify({ Infrastructure: { Settings: { Sources: sources } } });
  assert.deepEqual(parseSettingsPaths(config([{ Type: 'File', SettingsPath: '/a' }]), 'agent.json'), ['/a']);
  assert.throws(
    () => parseSettingsPaths(config([{ Type: 'HTTP', URI: 'x' }]), 'agent.json'),
    /Sources\[0\]\.Type must be File, not 'HTTP'/,
  );
  for (const text of ['', '{}', config([]), config([{ Type: 'File', SettingsPath: 'a' }])]) {
    assert.throws(() => parseSettingsPaths(text, 'agent.json'), isInvalid);
  }
});

test('sets the addresses of the dynamic networks of a spec', () => {
  const { networks } = parse({
    networks: { one: { type: 'dynamic' }, two: { type: 'manual', ip: '127.64.0.2' } },
  });
  const spec = { networks: { one: { type: 'dynamic', dns: [] }, two: { ip: '127.64.0.2' } } };
  assert.deepEqual(resolveNetworks(spec, networks, '10.0.0.7'), {
    networks: {
      one: { type: 'dynamic', dns: [], ip: '10.0.0.7', netmask: '', gateway: '' },
      two: { ip: '127.64.0.2' },
    },
  });
});

test('lists ignored settings, and selects the blobstore', () => {
  const env = {
    bosh: {
      password: '*',
      parallel: 3,
      blobstores: [{ provider: 'dav' }],
      authorized_keys: ['ssh-rsa A', 7],
    },
    persistent_disk_fs: 'xfs',
  };
  const settings = parse({ blobstore: { provider: 'local' }, env });
  assert.deepEqual(settings.ignoredSettings, ['env.bosh.password', 'env.persistent_disk_fs']);
  assert.equal(settings.blobstore?.provider, 'dav');
  assert.equal(settings.parallel, 3);
  assert.deepEqual(settings.authorizedKeys, ['ssh-rsa A']);
  assert.equal(parse({ blobstore: { provider: 'local' } }).blobstore?.provider, 'local');
});
