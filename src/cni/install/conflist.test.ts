import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'node:test';
import { annotationsCapability } from '../plugin/requested-addresses.ts';
import { delegateConfig } from '../delegate/delegate-config.ts';
import { parseNetworkConfig } from '../plugin/config.ts';
import { mentionsPlugin, wrapConflist } from './conflist.ts';

const bridge = { type: 'bridge', bridge: 'cni0', ipam: { type: 'host-local', subnet: '10.88.0.0/16' } };
const portmap = { type: 'portmap', capabilities: { portMappings: true } };
const list = { cniVersion: '1.0.0', name: 'pods', disableCheck: true, plugins: [bridge, portmap] };

const wrap = (value: unknown, changes: object = {}): Record<string, unknown> =>
  JSON.parse(
    wrapConflist({
      file: '10-pods.conflist',
      text: JSON.stringify(value),
      plugin: undefined,
      namespaces: ['bosh'],
      ...changes,
    }),
  ) as Record<string, unknown>;

const behind = (delegate: object, capabilities: object = {}): object => ({
  type: 'static-ip',
  capabilities: { ...capabilities, [annotationsCapability]: true },
  namespaces: ['bosh'],
  delegate,
});

test('puts static-ip in front of the plugin with an ipam, and does not change the others', () => {
  assert.deepEqual(wrap(list), { ...list, plugins: [behind(bridge), portmap] });
});

test('rejects a chain whose first plugin chooses addresses itself, unless the plugin is named', () => {
  const awsCni = { type: 'aws-cni', mtu: '9001' };
  const egress = { type: 'egress-cni', enabled: 'false', ipam: { type: 'host-local' } };
  const chain = { ...list, plugins: [awsCni, egress, portmap] };
  assert.throws(() => wrap(chain), {
    code: 'STATIC_IP_NOT_INSTALLED',
    message: /begins with plugin 'aws-cni', which has no ipam .*'egress-cni' .* --plugin/,
  });
  assert.deepEqual(wrap(chain, { plugin: 'egress-cni' })['plugins'], [awsCni, behind(egress), portmap]);
});

test('puts static-ip in front of a named plugin, and declares the capabilities of that plugin', () => {
  assert.deepEqual(wrap(list, { plugin: 'portmap' })['plugins'], [
    bridge,
    behind(portmap, portmap.capabilities),
  ]);
});

test('turns a single configuration into a list', () => {
  const single = { cniVersion: '0.4.0', name: 'pods', ...bridge };
  assert.deepEqual(wrap(single, { file: '10-pods.conf' }), {
    cniVersion: '0.4.0',
    name: 'pods',
    plugins: [behind(single)],
  });
});

test('the delegate gets the same configuration as before', () => {
  const fields = fc.dictionary(fc.string(), fc.jsonValue());
  fc.assert(
    fc.property(fields, fields, (more, ipam) => {
      const plugin = {
        ...more,
        type: 'bridge',
        ipam,
        capabilities: undefined,
        runtimeConfig: undefined,
        args: undefined,
      };
      const original = JSON.parse(JSON.stringify(plugin)) as Record<string, unknown>;
      const wrapped = wrap({ cniVersion: '1.0.0', name: 'pods', plugins: [plugin] });
      const [entry] = wrapped['plugins'] as [object];
      // libcni adds version and name to each plugin's configuration
      const config = parseNetworkConfig(JSON.stringify({ ...entry, cniVersion: '1.0.0', name: 'pods' }));
      assert.deepEqual(delegateConfig(config), { ...original, cniVersion: '1.0.0', name: 'pods' });
    }),
  );
});

test('declares the versions that both support, and the oldest for a runtime that reads only one', () => {
  const { cniVersion: _, ...unversioned } = list;
  const plugins = [behind(bridge), portmap];
  const versions = ['1.0.0', '0.4.0', '1.1.0', '1.2.0', '0.2.0', 'x'];
  assert.deepEqual(wrap({ ...unversioned, cniVersions: versions }), {
    ...unversioned,
    cniVersion: '0.4.0',
    cniVersions: ['1.0.0', '0.4.0', '1.1.0'],
    plugins,
  });
  for (const [cniVersion, cniVersions, expected, known] of [
    ['1.0.0', ['0.4.0', '1.1.0'], '1.0.0', ['0.4.0', '1.1.0']],
    ['9.0.0', ['1.0.0', '9.0.0'], '1.0.0', ['1.0.0']],
    ['1.0.0', ['9.0.0'], '1.0.0', []],
  ] as const)
    assert.deepEqual(wrap({ ...list, cniVersion, cniVersions }), {
      ...list,
      cniVersion: expected,
      cniVersions: known,
      plugins,
    });
});

test('reads a text with a byte order mark', () => {
  const text = `\uFEFF${JSON.stringify(list)}`;
  assert.deepEqual(wrap(undefined, { text }), { ...list, plugins: [behind(bridge), portmap] });
  assert.equal(mentionsPlugin(`\uFEFF${JSON.stringify(wrap(list))}`), true);
});

test('rejects a network that cannot be wrapped, and names the file', () => {
  const refused: readonly (readonly [unknown, object, RegExp])[] = [
    [1, {}, /10-pods\.conflist is not a JSON object/u],
    [{ ...list, cniVersion: '0.2.0' }, {}, /no cniVersion that static-ip supports \(0\.3\.0/u],
    [
      { ...list, cniVersion: undefined, cniVersions: ['0.2.0', '9.0.0'] },
      {},
      /no cniVersion that static-ip supports \(0\.3\.0/u,
    ],
    [
      { ...list, cniVersion: undefined, cniVersions: '1.0.0' },
      {},
      /no cniVersion that static-ip supports \(0\.3\.0/u,
    ],
    [{ ...list, plugins: {} }, {}, /no list of plugins/u],
    [{ ...list, plugins: [portmap] }, {}, /no plugin with an ipam: name .* with --plugin/u],
    [list, { plugin: 'calico' }, /has no plugin 'calico'/u],
  ];
  for (const [value, changes, message] of refused)
    assert.throws(() => wrap(value, changes), { code: 'STATIC_IP_NOT_INSTALLED', message });
});

test('recognizes a configuration that uses static-ip already', () => {
  assert.equal(mentionsPlugin(JSON.stringify(list)), false);
  assert.equal(mentionsPlugin(JSON.stringify(wrap(list))), true);
  assert.equal(mentionsPlugin('{"type":"static-ip"}'), true);
  assert.equal(mentionsPlugin('nothing'), false);
});
